"""Starts that cannot come up, of every engine, and the logs that they leave in its own words.

Published failures are nearly all of vLLM. What is tried here is the way of a proposal in the other
engines: the plan's own terms, the weights a little heavier than planned, are written as that
engine's log up to its death.
"""
import os
import sys

from .cases import ROOT
from .planner import value
from .rebuilt import GIB, MIB, log_writer

sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from log_lines import Log  # noqa: E402

HEAVIER = 1.02  # weights as logged, over planned


def question(engine, model, gpu, options=None, weights=None, count=1, version=None, **hardware):
    request = {"model": {"ref": model}, "engine": {"name": engine, "options": options or {}},
               "hardware": {"gpu": gpu, "count": count, **hardware}}
    if weights:
        request["weights"] = weights
    if version:
        request["engine"]["version"] = version
    return request


QUESTIONS = [
    question("vllm", "Qwen/Qwen3-32B", "h100-sxm", version="0.11.0"),
    question("vllm", "Qwen/Qwen3-32B", "l40s", version="0.20.0"),
    question("vllm", "openai/gpt-oss-120b", "h100-sxm", {"max_num_batched_tokens": 1024}, version="0.11.0"),
    question("vllm", "deepseek-ai/DeepSeek-V3", "h200-sxm", {"tensor_parallel_size": 4}, count=4, version="0.11.0"),
    question("vllm", "Qwen/Qwen3-8B", "h100-sxm", {"gpu_memory_utilization": 0.9}, version="0.11.0", used_bytes=40 * GIB),
    question("sglang", "Qwen/Qwen3-8B", "rtx-4090", {"mem_fraction_static": 0.6}),
    question("sglang", "Qwen/Qwen3-32B", "l40s"),
    question("sglang", "google/gemma-3-27b-it", "h100-sxm", {"mem_fraction_static": 0.5}),
    question("sglang", "Qwen/Qwen3-30B-A3B", "l40s"),
    question("sglang", "deepseek-ai/DeepSeek-V3", "h100-sxm", {"tp_size": 8}, count=8),
    question("trtllm", "Qwen/Qwen3-32B", "l40s"),
    question("trtllm", "Qwen/Qwen3-8B", "rtx-4080"),
    question("trtllm", "openai/gpt-oss-120b", "l40s"),
    question("trtllm", "meta-llama/Llama-3.1-70B-Instruct", "h100-sxm"),
    question("trtllm", "deepseek-ai/DeepSeek-R1", "h100-sxm", {"tensor_parallel_size": 8}, count=8),
    question("llama.cpp", "Qwen/Qwen3-8B", "rtx-3060-12", {"ctx_size": 131072, "n_gpu_layers": 99}, "Q4_K_M"),
    question("llama.cpp", "Qwen/Qwen3-30B-A3B", "rtx-4080", {"ctx_size": 65536, "n_gpu_layers": 99}, "Q4_K_M"),
    question("llama.cpp", "meta-llama/Llama-3.1-70B-Instruct", "rtx-4090", {"n_gpu_layers": 99, "ctx_size": 8192}, "Q8_0", count=2),
    question("llama.cpp", "google/gemma-3-27b-it", "rtx-4080", {"n_gpu_layers": 99, "ctx_size": 32768}, "Q4_K_M"),
    question("llama.cpp", "openai/gpt-oss-120b", "rtx-4090", {"n_gpu_layers": 99, "ctx_size": 16384}, "MXFP4"),
    question("ollama", "Qwen/Qwen3-32B", "rtx-3060-12", {"num_ctx": 32768, "num_gpu": 99}, "Q4_K_M"),
    question("ollama", "google/gemma-3-27b-it", "rtx-4080", {"num_ctx": 65536, "num_gpu": 99}, "Q4_K_M"),
    question("ollama", "Qwen/Qwen3-8B", "rtx-3060-12", {"num_ctx": 40960, "num_gpu": 99}, "Q8_0"),
]


def broken(plan):
    """The first requirement that does not hold."""
    return next((r for r in plan["requirements"] if r.get("unit") == "bytes" and r["needed"] > r["available"]), None)


def torch_death(frame, tried, free, total):
    return (["Traceback (most recent call last):", f'  File "/opt/app/worker.py", line 240, in {frame}', "    run()",
             f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {tried / MIB:.2f} MiB. GPU 0 has a total capacity of "
             f"{total / GIB:.2f} GiB of which {free / MIB:.2f} MiB is free."])


def of_vllm(request, plan, hole):
    total = plan["devices"][0]["total_bytes"] / GIB
    free = next((r["available"] for r in plan["requirements"] if r["what"] == "utilisation"), 0) / GIB
    terms = {"total": total, "oom": True}
    if hole["what"] == "utilisation":
        terms.update(free_at_start=free, budget=hole["needed"] / GIB)
    elif hole["phase"] == "load":
        log = log_writer.vllm(request["engine"]["version"], {"total": total}, plan["engine"]["options"], request["model"]["ref"])
        log.lines = log.lines[:-1] + torch_death("load_model", 512 * MIB, 300 * MIB, plan["devices"][0]["total_bytes"])
        return log
    else:
        heavier = plan["totals"]["weights_bytes"] * (HEAVIER - 1) / GIB
        available = plan["kv"]["available_bytes"] / GIB - heavier
        terms.update(weights=plan["totals"]["weights_bytes"] / GIB + heavier, available=available)
        if available > 0:
            terms["needed"] = hole["needed"] / GIB
    return log_writer.vllm(request["engine"]["version"], terms, plan["engine"]["options"], request["model"]["ref"])


def of_sglang(request, plan, hole):
    weights = plan["totals"]["weights_bytes"] * HEAVIER / GIB
    before = next(r["available"] for r in plan["requirements"] if r["what"] == "weights") / GIB
    loading = hole["phase"] == "load"
    terms = {"before_loading": before, **({} if loading else {"weights": weights, "after_loading": before - weights})}
    log = log_writer.sglang(terms, {**plan["engine"]["options"], **request["engine"]["options"]}, request["model"]["ref"])
    log.lines.pop()
    log.lines += (torch_death("load_model", 256 * MIB, 200 * MIB, plan["devices"][0]["total_bytes"]) if loading else
                  ["RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."])
    return log


def of_trtllm(request, plan, hole):
    weights = plan["totals"]["weights_bytes"] * HEAVIER / GIB
    loading = hole["phase"] == "load"
    log = log_writer.trtllm({} if loading else {"weights": weights}, plan["engine"].get("version"))
    log.lines += (torch_death("load_weights", 224 * MIB, 100 * MIB, plan["devices"][0]["total_bytes"]) if loading else
                  ["[TensorRT-LLM][ERROR] CUDA runtime error in ::cudaMallocAsync(ptr, n, mMemPool->getPool(), mCudaStream->get()): "
                   "out of memory"])
    return log


def llamacpp_terms(plan):
    """Buffers by device up to the one that finds no room."""
    free = {f"CUDA{d['index']}": d["total_bytes"] - d["used_bytes"] for d in plan["devices"]}
    terms = {}
    for part, key in (("model", "model_bytes"), ("kv", "context_bytes"), ("compute", "compute_bytes")):
        terms[part] = {}
        for device, size in plan["buffers"].get(key, {}).items():
            if device in free and size > free[device]:
                return {**terms, "failed": [device, size]}
            free[device] = free.get(device, 1 << 60) - size
            terms[part][device] = size / MIB
    return {**terms, "failed": ["CUDA0", 256 * MIB]}


def of_llamacpp(request, plan, hole):
    return log_writer.write("llama.cpp", plan["engine"].get("version"), llamacpp_terms(plan))


def of_ollama(request, plan, hole):
    log = Log()
    stamp = "time=2026-05-17T10:11:12.123Z level="
    log.add(stamp + 'INFO source=routes.go:1205 msg="Listening on 127.0.0.1:11434 (version 0.33.0)"')
    log.lines += log_writer.write("llama.cpp", "b9200", llamacpp_terms(plan)).lines
    log.add(stamp + 'ERROR source=sched.go:470 msg="error loading llama server" error="llama runner process has terminated: '
            'cudaMalloc failed: out of memory"')
    return log


WRITERS = {"vllm": of_vllm, "sglang": of_sglang, "trtllm": of_trtllm, "llama.cpp": of_llamacpp, "ollama": of_ollama}


def deaths(planner):
    """(request, log) of every question whose plan does not start."""
    for request, plan in zip(QUESTIONS, planner.ask([{**q, "levers": False} for q in QUESTIONS])):
        if value(plan, "starts") is not False:
            raise ValueError(f"{request} was to fail: {plan.get('answer') or plan.get('error')}")
        yield request, WRITERS[request["engine"]["name"]](request, plan, broken(plan))
