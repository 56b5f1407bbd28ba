"""What collected cases print, in the terms that logs are written from (tests/support/log_writer.py)."""
import os
import re

from . import external, external_llamacpp
from .cases import lines

SERVING = {
    "weights_gib": "weights", "available_kv_gib": "available", "kv_tokens": "pool_tokens", "max_concurrency": "concurrency",
    "max_concurrency_len": "concurrency_len", "total_gpu_gib": "total", "cuda_graph_gib": "graphs",
    "activation_peak_gib": "activation", "budget_gib": "budget", "gpu_blocks": "blocks", "cpu_blocks": "cpu_blocks",
    "non_torch_gib": "non_torch", "free_at_start_gib": "free_at_start", "cuda_graph_estimated_gib": "graphs_estimated",
    "needed_kv_gib": "needed", "consumed_gib": "consumed", "estimated_max_len": "estimated_len", "checkpoint_gib": "checkpoint",
    "peak_torch_gib": "peak_torch", "initial_usage_gib": "initial_usage", "post_profile_usage_gib": "usage_after",
    "mamba_cache_blocks": "state_blocks", "tried_gib": "tried", "free_gib": "free", "in_use_gib": "process", "oom": "oom",
    # SGLang
    "sglang_weights_gb": "weights", "sglang_avail_before_gb": "before_loading", "avail_before_weights_gb": "before_loading",
    "sglang_avail_after_weights_gb": "after_loading", "avail_after_weights_gb": "after_loading", "sglang_tokens": "pool_tokens",
    "sglang_k_gb": "k", "sglang_v_gb": "v", "kv_gb": "kv", "sglang_swa_tokens": "swa_tokens", "sglang_swa_k_gb": "swa_k",
    "sglang_swa_v_gb": "swa_v", "memory_pool_end_avail_gb": "after_pool", "avail_after_pool_gb": "after_pool",
    "cuda_graph_gb": "graphs", "avail_after_graphs_gb": "after_graphs", "avail_before_graphs_gb": "before_graphs",
    "available_gpu_mem_gb": "after_graphs", "mamba_slots": "state_slots", "conv_state_gb": "conv_state",
    "ssm_state_gb": "ssm_state", "sglang_full_layer_tokens": "full_tokens", "sglang_swa_layer_tokens": "swa_tokens",
    "swa_k_gb": "swa_k", "swa_v_gb": "swa_v",
    # TensorRT-LLM
    "peak_gib": "peak", "weights_outside_torch_gib": "weights_outside_torch", "temporary_kv_gib": "temporary_cache",
    "available_at_kv_sizing_gib": "free_at_sizing", "engine_mib": "engine_mib", "execution_context_mib": "execution_context_mib",
    "runtime_buffers_mb": "runtime_buffers_mib", "decoder_mb": "decoder_mib",
}
LLAMACPP = {
    "kv_mib": "kv_total", "kv_k_mib": "k", "kv_v_mib": "v", "k_mib": "k", "v_mib": "v", "kv_cells": "cells", "kv_layers": "layers",
    "swa_cells": "swa_cells", "swa_layers": "swa_layers", "swa_kv_mib": "swa_total", "rs_r_mib": "rs_r", "rs_s_mib": "rs_s",
    "output_buffer_mib": "output", "input_buffer_mib": "input", "graph_nodes": "nodes", "graph_splits": "splits",
    "n_copies": "copies", "pipeline_copies": "copies", "projected_mib": "projected", "fit_free_mib": "fit_free",
    "file_size_gib": "file", "bpw": "bpw", "host_required_mib": "host_required", "mem_required_mb": "host_required",
    "state_mib": "state", "per_state_mb": "state", "vram_scratch_mib": "scratch", "scratch_vram_mb": "scratch",
    "vram_used_mib": "vram_used", "mmproj_mib": "projector",
}
BY_DEVICE = {"model_buffer_mib": "model", "kv_buffer_mib": "kv", "compute_buffer_mib": "compute", "rs_buffer_mib": "rs",
             "rs_buffer_mib_by_dev": "rs", "rs_buffer_per_dev_mib": "rs", "model_buffer_mib_list": "model"}
COUNTS = {"cells", "layers", "swa_cells", "swa_layers", "nodes", "splits", "copies", "projected", "fit_free"}


def serving_terms(observed):
    found = {}
    for there, here in SERVING.items():
        value = observed.get(there)
        if isinstance(value, (int, float)):
            found.setdefault(here, value)
    if "needed" in found or "tried" in found:
        found.pop("pool_tokens", None)
    return found


def llamacpp_terms(observed, flags):
    found = {}
    for there, here in LLAMACPP.items():
        value = observed.get(there)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            found.setdefault(here, int(value) if here in COUNTS else value)
    for there, here in BY_DEVICE.items():
        value = observed.get(there)
        if isinstance(value, dict):
            found.setdefault(here, {}).update({d: s for d, s in value.items() if isinstance(s, (int, float, list))})
    if isinstance(observed.get("rs_buffer_mib"), (int, float)):
        found.setdefault("rs", {"CUDA0": observed["rs_buffer_mib"]})
    state = observed.get("rs") or {}
    for there, here in (("R_f32_mib", "rs_r"), ("S_f32_mib", "rs_s"), ("cells", "rs_cells"), ("layers", "rs_layers"),
                        ("seqs", "rs_sequences"), ("rs_seq", "rs_per_sequence")):
        if there in state:
            found[here] = state[there]
    for block, here in (("draft", "draft_context"), ("mmproj", "projector")):
        estimate = observed.get(block)
        if isinstance(estimate, dict) and isinstance(estimate.get("estimate_mib"), (int, float)):
            found[here] = estimate["estimate_mib"]
    whole = {"total", "free", "self", "unaccounted"}
    tables = observed.get("breakdown") or {}
    table = {d: row for d, row in tables.items() if isinstance(row, dict) and (d == "Host" or whole <= set(row))}
    if table and all(isinstance(n, int) for row in table.values() for n in row.values()):
        found["breakdown"] = table
    offloaded = str(observed.get("offloaded_layers") or "")
    if re.fullmatch(r"\d+/\d+", offloaded):
        found["offloaded"] = offloaded
    for name in ("n_ctx", "n_batch", "n_ubatch"):
        if isinstance(flags.get(name), int):
            found[name] = flags[name]
    if observed.get("failed_device") and isinstance(observed.get("failed_bytes"), int):
        found["failed"] = [observed["failed_device"], observed["failed_bytes"]]
    return found


def words(amount, unit):
    return f"{amount:.1f} {unit}"


def ollama_terms(observed, flags):
    found, estimate, runner = {}, {}, {}
    for name, value in (observed.get("ollama") or {}).items():
        name = name.removeprefix("memory.").removeprefix("layers.")
        if name.endswith(("_gib", "_mib")) and isinstance(value, (int, float)):
            estimate[name[:-4]] = words(value, "GiB" if name.endswith("_gib") else "MiB")
        elif isinstance(value, str) and re.fullmatch(r"[\d.]+ ([KMG]i)?B", value):
            estimate[name] = value
        elif name == "split":
            estimate["split"] = value
    offloaded = str(observed.get("offloaded_layers") or "")
    if estimate:
        whole = observed["ollama"]
        estimate["offloaded"] = offloaded or f'{whole.get("layers.offload", 0)}/{whole.get("layers.model", 1)}'
        found["estimate"] = estimate
    for there, here in (("model_buffer", "model"), ("kv_buffer", "kv"), ("compute_buffer", "compute")):
        for unit, word in (("gib", "GiB"), ("mib", "MiB")):
            value = observed.get(f"{there}_{unit}")
            if isinstance(value, dict) and observed.get("total_gib"):
                runner.setdefault(here, {}).update({d: words(s, word) for d, s in value.items()})
    if runner:
        runner["total_memory"] = words(observed["total_gib"], "GiB")
        if re.fullmatch(r"\d+/\d+", offloaded):
            runner["offloaded"] = offloaded
        found["runner"] = runner
    inner = llamacpp_terms(observed, flags) if not runner and not estimate else {}
    if inner:
        found["llamacpp"] = inner
    return found


def printed(row):
    """(engine, release, terms, options) of a collected row; terms may be empty."""
    engine, observed = row["engine"], row["observed"]
    if engine in ("vllm", "sglang", "trtllm"):
        options = {k: v for k, v in external.options(row).items() if isinstance(v, (int, float, str))}
        return engine, external.version(row), serving_terms(observed), options
    release = external_llamacpp.build(row)[0]
    if engine == "ollama":
        version = re.match(r"\d+\.\d+\.\d+", str(row.get("engine_version") or ""))
        terms = ollama_terms(observed, row["flags"])
        if "llamacpp" in terms and release:
            terms["build"] = release
        return engine, version.group(0) if version else None, terms, {}
    return "llama.cpp", release, llamacpp_terms(observed, row["flags"]), {}


def load(folder):
    """Rows of tests/data/logs/printed.jsonl's form, of every collected run that printed something."""
    for name in ("vllm.jsonl", "llamacpp.jsonl"):
        path = os.path.join(folder, name)
        for number, row in lines(path) if os.path.exists(path) else ():
            engine, release, terms, options = printed(row)
            if terms:
                yield {"engine": engine, "version": release, "source": row["source"], "terms": terms, "options": options,
                       "place": f"{name}:{number}"}
