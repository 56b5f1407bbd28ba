"""Writes the startup logs of llama.cpp builds, from 2023 on; see log_writer.py."""
import re

from log_lines import MIB, Log, printed_mib


def build_number(build):
    return int(build.lstrip("b")) if re.fullmatch(r"b?\d+", build or "") else 6000


def _old(log, number, terms):
    """2023: no buffers by device; everything by its purpose."""
    load = "llama_model_load_internal" if number < 1400 else "llm_load_tensors"
    unit = "MB" if number < 1600 else "MiB"
    if "host_required" in terms:
        state = f" (+ {terms['state']:.2f} {unit} per state)" if "state" in terms else ""
        log.add(f"{load}: mem required  = {terms['host_required']:.2f} {unit}{state}",
                host_required=printed_mib(terms["host_required"]),
                **({"state": printed_mib(terms["state"])} if state else {}))
    if "scratch" in terms:
        words = (f"allocating batch_size x (512 kB + n_ctx x 128 B) = {terms['scratch']:.0f} MB VRAM for the scratch buffer"
                 if number < 1400 else f"VRAM scratch buffer: {terms['scratch']:.2f} {unit}")
        log.add(f"{load}: {words}", scratch=round(terms["scratch"]) * MIB if number < 1400 else printed_mib(terms["scratch"]))
    if "offloaded" in terms:
        a, b = terms["offloaded"].split("/")
        log.add(f"{load}: offloaded {a}/{b} layers to GPU", layers_offloaded=int(a), layers_total=int(b))
    if "vram_used" in terms:
        log.add(f"{load}: total VRAM used: {terms['vram_used']:.2f} {unit}" if number >= 1400 else
                f"{load}: total VRAM used: {terms['vram_used']:.0f} {unit}",
                vram_used=printed_mib(terms["vram_used"]) if number >= 1400 else round(terms["vram_used"]) * MIB)
    if "kv_total" in terms:
        where = "llama_init_from_file: kv self size" if number < 1400 else "llama_new_context_with_model: kv self size"
        log.add(f"{where}  = {terms['kv_total']:7.2f} {unit}", kv_total=printed_mib(terms["kv_total"]))


def _caches(log, number, terms, context):
    kv = "llama_kv_cache" if number >= 6500 else "llama_kv_cache_unified" if number >= 5400 else "llama_kv_cache_init"
    if "swa_cells" in terms and number >= 5400:
        log.add(f"{kv}_iswa: creating non-SWA KV cache, size = {terms.get('cells', 0)} cells")
        log.add(f"{kv}_iswa: creating     SWA KV cache, size = {terms['swa_cells']} cells", cache_cells=terms["swa_cells"])
    for device, size in terms.get("kv", {}).items():
        log.device(f"{kv}: {device:>10} KV buffer size = {size:8.2f} MiB", device, kv_buffer=printed_mib(size))
    sizes = [(terms.get("kv_total"), terms.get("cells"), terms.get("layers", 32))]
    if number >= 5400 and "swa_total" in terms:
        sizes.append((terms["swa_total"], terms.get("swa_cells"), terms.get("swa_layers", 32)))
    for total, cells, layers in sizes:
        if total is None:
            continue
        k, v = (terms["k"], terms["v"]) if {"k", "v"} <= set(terms) else (total / 2, total / 2)
        if number >= 5400:
            sequences = "1/1 seqs" if number >= 6500 else "1 seqs"
            log.add(f"{kv}: size = {total:7.2f} MiB ({cells or 4096:6d} cells, {layers:3d} layers,  {sequences}), K (f16): {k:7.2f} "
                    f"MiB, V (f16): {v:7.2f} MiB", kv_size=printed_mib(total), kv_cells=cells or 4096)
        else:
            log.add(f"{context}: KV self size  = {total:7.2f} MiB, K (f16): {k:7.2f} MiB, V (f16): {v:7.2f} MiB",
                    kv_total=printed_mib(total), k_memory=printed_mib(k), v_memory=printed_mib(v))
    for device, size in terms.get("rs", {}).items():
        log.device(f"llama_memory_recurrent: {device:>10} RS buffer size = {size:8.2f} MiB", device, rs_buffer=printed_mib(size))
    if "rs_r" in terms and "rs_s" in terms:
        r, s, cells = terms["rs_r"], terms["rs_s"], terms.get("rs_cells", 1)
        log.add(f"llama_memory_recurrent: size = {r + s:7.2f} MiB ( {cells} cells,  {terms.get('rs_layers', 64)} layers,  "
                f"{terms.get('rs_sequences', 1)} seqs  {terms.get('rs_per_sequence', 0)} rs_seq), R (f32): {r:7.2f} MiB, S (f32): "
                f"{s:7.2f} MiB", rs_r=printed_mib(r), rs_s=printed_mib(s), rs_cells=cells, rs_size=printed_mib(r + s))


def _memory_tables(log, number, terms):
    """The fit's projection and the breakdown that a server prints when it is up."""
    fit = "common_params_fit_impl" if number >= 8500 else "llama_params_fit_impl"
    if "projected" in terms:
        free = terms.get("fit_free", 20000)
        log.add(f"{fit}: projected to use {terms['projected']} MiB of device memory vs. {free} MiB of free device memory",
                projected=terms["projected"] * MIB, projected_free=free * MIB)
    table = ("common_memory_breakdown_print" if number >= 8500 else "llama_memory_breakdown_print")
    for device, row in terms.get("breakdown", {}).items():
        sizes = {part: row.get(part, 0) for part in ("self", "model", "context", "compute")}
        if device == "Host":
            log.add(f"{table}: |   - Host {'':20}| {sizes['self']:6d} = {sizes['model']:5d} + {sizes['context']:5d} + "
                    f"{sizes['compute']:5d}                |", **{f"host_{p}": n * MIB for p, n in sizes.items()})
            continue
        parts = {"total": row["total"], "free": row["free"], **sizes}
        log.add(f"{table}: |   - {device} (Some Card) | {row['total']} = {row['free']} + ({sizes['self']} = {sizes['model']} + "
                f"{sizes['context']} + {sizes['compute']}) + {row['unaccounted']:11d} |")
        log.expect += [((f"breakdown_{p}", device), n * MIB) for p, n in parts.items()]
        log.expect.append((("unaccounted", device), row["unaccounted"] * MIB))


def llamacpp(build, terms):
    """`terms` in MiB by device: model, kv, rs, compute; in MiB: kv_total, k, v, swa_total, rs_r, rs_s, output, input,
    projector, draft_context; of 2023 host_required, state, scratch, vram_used; counts: n_ctx, n_batch, n_ubatch,
    n_seq_max, cells, layers, swa_cells, swa_layers, rs_cells, rs_sequences, nodes, splits, copies; projected, fit_free
    and breakdown by device in whole MiB; `failed` = (device, bytes) of an allocation that did not succeed."""
    log, number = Log(), build_number(build)
    log.add(f"build: {number} (abcdef12) with cc (Debian 12.2.0) 12.2.0 for x86_64-linux-gnu")
    log.add("llama_model_loader: loaded meta data with 30 key-value pairs and 400 tensors from /models/Some-Model-Q4_K_M.gguf (version GGUF V3 (latest))")
    if number < 1800:
        _old(log, number, terms)
        return log
    if "projected" in terms:
        _memory_tables(log, number, {k: terms[k] for k in ("projected", "fit_free") if k in terms})
    load = "load_tensors" if number >= 4500 else "llm_load_tensors"
    info = "print_info: file size  " if number >= 4500 else "llm_load_print_meta: model size      "
    if "file" in terms and "bpw" in terms:
        log.add(f"{info} = {terms['file']:.2f} GiB ({terms['bpw']:.2f} BPW) ", file=printed_mib(terms["file"]) * 1024,
                bpw=float(f"{terms['bpw']:.2f}"))
    if "offloaded" in terms:
        a, b = terms["offloaded"].split("/")
        log.add(f"{load}: offloaded {a}/{b} layers to GPU", layers_offloaded=int(a), layers_total=int(b))
    word = " model" if number >= 3500 else ""
    for device, size in terms.get("model", {}).items():
        for part in size if isinstance(size, list) else [size]:
            log.device(f"{load}: {device:>12}{word} buffer size = {part:8.2f} MiB", device)
        whole = sum(printed_mib(p) for p in (size if isinstance(size, list) else [size]))
        log.expect.append((("model_buffer", device), whole if not isinstance(size, list) else printed_mib(size[-1])))
    context = ("llama_context" if number >= 5000 else "llama_init_from_model" if number >= 4600 else "llama_new_context_with_model")
    for name in ("n_ctx", "n_batch", "n_ubatch", "n_seq_max"):
        if isinstance(terms.get(name), int):
            log.add(f"{context}: {name:<13} = {terms[name]}", **{name: terms[name]})
    if "output" in terms:
        log.device(f"{context}:  CUDA_Host  output buffer size = {terms['output']:8.2f} MiB", "CUDA_Host",
                   output_buffer=printed_mib(terms["output"]))
    _caches(log, number, terms, context)
    if "input" in terms:
        log.device(f"{context}:  CUDA_Host input buffer size   = {terms['input']:8.2f} MiB", "CUDA_Host",
                   input_buffer=printed_mib(terms["input"]))
    if "copies" in terms:
        log.add(f"{context}: pipeline parallelism enabled (n_copies={terms['copies']})", pipeline_copies=terms["copies"])
    compute = "sched_reserve" if 7600 <= number < 8200 else context
    for device, size in terms.get("compute", {}).items():
        log.device(f"{compute}: {device:>10} compute buffer size = {size:8.2f} MiB", device, compute_buffer=printed_mib(size))
    for term, name, field in (("nodes", "graph nodes", "graph_nodes"), ("splits", "graph splits", "graph_splits")):
        if term in terms:
            log.add(f"{context}: {name}  = {terms[term]}", **{field: terms[term]})
    if "projector" in terms:
        log.add(f"srv    load_model: [mtmd] estimated worst-case memory usage of mmproj is {terms['projector']:.2f} MiB",
                projector=printed_mib(terms["projector"]))
    if "draft_context" in terms:
        log.add(f"srv    load_model: [spec] estimated memory usage of MTP context is {terms['draft_context']:.2f} MiB",
                draft_context=printed_mib(terms["draft_context"]))
    if "failed" in terms:
        device, size = terms["failed"]
        log.add(f"ggml_gallocr_reserve_n: failed to allocate {device} buffer of size {size}", failure_needed=size)
        return log
    _memory_tables(log, number, {k: terms[k] for k in ("breakdown",) if k in terms})
    log.add("main: server is listening on http://127.0.0.1:8080 - starting the main loop")
    return log
