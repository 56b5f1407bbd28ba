"""Writes the logs that a server of a given release would have printed, for tests of the log reader.

The wording stands here a second time on purpose: a slip in the reader's tables must not be repeated
by what it is tested with. `write(case)` takes a measured case (tests/measured/README.md) and answers
the text and the fields that have to be read back from it.
"""
import re

GIB = 2**30


def version_tuple(text):
    numbers = re.findall(r"\d+", text or "")
    return tuple(int(n) for n in (numbers + ["0", "0", "0"])[:3])


class Log:
    def __init__(self):
        self.lines, self.expect = [], []

    def add(self, line, **fields):
        """A line, and what has to be read from it: field=value (bytes or counts)."""
        self.lines.append(line)
        self.expect += list(fields.items())

    def device(self, line, device, **fields):
        self.lines.append(line)
        self.expect += [((name, device), value) for name, value in fields.items()]

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"


def _number(text):
    return float(text.split()[0].replace(",", "")) if isinstance(text, str) else float(text)


def vllm(version, terms, options=None, model="org/model", prefix=""):
    """`terms`: weights, available, total, activation, non_torch, graphs, graphs_estimated (GiB as printed),
    pool_tokens, blocks, concurrency, concurrency_len, needed, estimated_len, free_at_start, budget, consumed."""
    log, v, options = Log(), version_tuple(version), options or {}
    first_engine = v < (0, 8, 0)
    old = v < (0, 8, 0)
    head = (lambda file: f"{prefix}INFO 05-17 10:11:12 {file}] ") if old else (
        lambda file: f"{prefix}INFO 05-17 10:11:12 [{file}] ")
    arguments = ", ".join(f"{name!r}: {value!r}" for name, value in {"model": model, **options}.items())
    if v >= (0, 9, 0):
        log.add(head("utils.py:233") + "non-default args: {" + arguments + "}")
    engine = "an LLM engine" if old else "a V1 LLM engine"
    tensor, length = options.get("tensor_parallel_size", 1), options.get("max_model_len", 8192)
    log.add(head("core.py:77") + f"Initializing {engine} (v{version}) with config: model='{model}', speculative_config=None, "
            f"tokenizer='{model}', dtype=torch.bfloat16, max_seq_len={length}, tensor_parallel_size={tensor}, "
            "pipeline_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto")
    gib = lambda name, digits=2: f"{terms[name]:.{digits}f}"  # noqa: E731
    if "weights" in terms:
        w = f"{terms['weights']:.4f}".rstrip("0") if v >= (0, 15, 0) else gib("weights", 4)
        w = w + "0" if w.endswith(".") else w
        wording = (f"Loading model weights took {w} GB" if old else
                   f"Model loading took {w} GB and 12.345678 seconds" if v < (0, 8, 5) else
                   f"Model loading took {w} GiB and 12.345678 seconds" if v < (0, 11, 1) else
                   f"Model loading took {w} GiB memory and 12.345678 seconds")
        log.add(head("gpu_model_runner.py:1234") + wording, weights=float(w) * GIB)
    if "graphs_estimated" in terms:
        log.add(head("gpu_model_runner.py:5500") + f"Estimated CUDA graph memory: {gib('graphs_estimated')} GiB total",
                graphs_estimated=_number(gib("graphs_estimated")) * GIB)
    whole_profile = {"total", "activation", "non_torch", "weights", "available"} <= set(terms)
    if first_engine and whole_profile:
        share = options.get("gpu_memory_utilization", 0.9)
        budget = f"{terms.get('budget', terms['total'] * share):.2f}"
        log.add(head("worker.py:267") + "Memory profiling takes 1.23 seconds")
        log.add(f"the current vLLM instance can use total_gpu_memory ({gib('total')}GiB) x gpu_memory_utilization "
                f"({share:.2f}) = {budget}GiB", total=_number(gib("total")) * GIB, budget=float(budget) * GIB)
        log.add(f"model weights take {gib('weights')}GiB; non_torch_memory takes {gib('non_torch')}GiB; PyTorch activation "
                f"peak memory takes {gib('activation')}GiB; the rest of the memory reserved for KV Cache is {gib('available')}GiB.",
                non_torch=_number(gib("non_torch")) * GIB, activation=_number(gib("activation")) * GIB,
                available=_number(gib("available")) * GIB)
    elif "available" in terms and not first_engine:
        log.add(head("gpu_worker.py:298") + f"Available KV cache memory: {gib('available')} GiB",
                available=_number(gib("available")) * GIB)
    if "blocks" in terms:
        log.add(head("executor_base.py:111") + f"# {'cuda' if v >= (0, 7, 0) else 'GPU'} blocks: {terms['blocks']}, # CPU blocks: 2048",
                blocks=terms["blocks"])
    if "pool_tokens" in terms:
        log.add(head("kv_cache_utils.py:1087") + f"GPU KV cache size: {terms['pool_tokens']:,} tokens",
                pool_tokens=terms["pool_tokens"])
    if "concurrency" in terms:
        per = terms.get("concurrency_len", length)
        log.add(head("kv_cache_utils.py:1091") + f"Maximum concurrency for {per if first_engine else format(per, ',')} tokens per "
                f"request: {terms['concurrency']:.2f}x", concurrency=float(f"{terms['concurrency']:.2f}"))
    if "needed" in terms:
        available = terms.get("available", 0.0)
        estimate = (f"Based on the available memory, the estimated maximum model length is {terms['estimated_len']}. "
                    if "estimated_len" in terms else "")
        log.add(f"{prefix}ERROR 05-17 10:11:12 [core.py:708] ValueError: To serve at least one request with the models's max seq "
                f"len ({length}), ({gib('needed')} GiB KV cache is needed, which is larger than the available KV cache memory "
                f"({available:.2f} GiB). {estimate}Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when "
                "initializing the engine.")
        return log
    if "graphs" in terms:
        log.add(head("model_runner.py:1500") + f"Graph capturing finished in 21 secs, took {gib('graphs')} GiB",
                graphs=_number(gib("graphs")) * GIB)
    if whole_profile and v >= (0, 10, 2):
        share = options.get("gpu_memory_utilization", 0.9 if v < (0, 20, 0) else 0.92)
        free = terms.get("free_at_start", terms["total"] - 0.5)
        budget = f"{terms.get('budget', terms['total'] * share):.2f}"
        log.add(head("gpu_worker.py:391") + f"Free memory on device ({free:.2f}/{gib('total')} GiB) on startup. Desired GPU memory "
                f"utilization is ({share}, {budget} GiB). Actual usage is {gib('weights')} GiB for weight, "
                f"{gib('activation')} GiB for peak activation, {gib('non_torch')} GiB for non-torch memory, and "
                f"{terms.get('graphs', 0):.2f} GiB for CUDAGraph memory. Replace gpu_memory_utilization config with "
                f"`--kv-cache-memory=1` to fit into requested memory, or `--kv-cache-memory=2` to fully utilize gpu memory. Current "
                f"kv cache memory in use is {int(terms['available'] * GIB)} bytes.",
                total=_number(gib("total")) * GIB, activation=_number(gib("activation")) * GIB,
                non_torch=_number(gib("non_torch")) * GIB, free_at_start=float(f"{free:.2f}") * GIB)
    log.add(f"{prefix}INFO:     Application startup complete.")
    return log


def sglang(terms, options=None, model="org/model", ranks=1):
    log = Log()
    arguments = ", ".join(f"{name}={value!r}" for name, value in {"model_path": model, **(options or {})}.items())
    log.add(f"[2026-05-17 10:11:12] server_args=ServerArgs({arguments})")
    for rank in range(ranks):
        stamp = f"[2026-05-17 10:11:12 TP{rank}] " if ranks > 1 else "[2026-05-17 10:11:12] "
        if "before_loading" in terms:
            log.add(stamp + f"Load weight begin. avail mem={terms['before_loading']:.2f} GB",
                    before_loading=float(f"{terms['before_loading']:.2f}") * GIB)
        if "weights" in terms:
            after = terms.get("after_loading", 1.0)
            log.add(stamp + f"Load weight end. elapsed=3.21 s, type=Model, avail mem={after:.2f} GB, mem usage={terms['weights']:.2f} GB.",
                    weights=float(f"{terms['weights']:.2f}") * GIB)
        if "swa_tokens" in terms:
            log.add(stamp + f"Use sliding window memory pool. full_layer_tokens={terms['pool_tokens']}, swa_layer_tokens={terms['swa_tokens']}",
                    swa_layer_tokens=terms["swa_tokens"])
        if "mamba_slots" in terms:
            log.add(stamp + f"Mamba Cache is allocated. max_mamba_cache_size: {terms['mamba_slots']}, conv_state size: "
                    f"{terms.get('conv', 0):.2f}GB, ssm_state size: {terms.get('ssm', 0):.2f}GB ",
                    state_slots=terms["mamba_slots"])
        if "pool_tokens" in terms and "k" in terms:
            log.add(stamp + f"KV Cache is allocated. #tokens: {terms['pool_tokens']}, K size: {terms['k']:.2f} GB, V size: {terms['v']:.2f} GB",
                    pool_tokens=terms["pool_tokens"], k_memory=float(f"{terms['k']:.2f}") * GIB,
                    v_memory=float(f"{terms['v']:.2f}") * GIB)
        elif "pool_tokens" in terms:
            size = terms.get("kv", 1.0)
            log.add(stamp + f"KV Cache is allocated. #tokens: {terms['pool_tokens']}, KV size: {size:.2f} GB",
                    pool_tokens=terms["pool_tokens"])
        if "after_pool" in terms:
            log.add(stamp + f"Memory pool end. avail mem={terms['after_pool']:.2f} GB",
                    after_pool=float(f"{terms['after_pool']:.2f}") * GIB)
        if "graphs" in terms:
            log.add(stamp + f"Capture cuda graph end. Time elapsed: 3.21 s. mem usage={terms['graphs']:.2f} GB. avail mem=1.00 GB.",
                    graphs=float(f"{terms['graphs']:.2f}") * GIB)
    log.add("[2026-05-17 10:11:12] The server is fired up and ready to roll!")
    return log


def trtllm(terms):
    log = Log()
    log.add("[TensorRT-LLM] TensorRT-LLM version: 1.1.0")
    head = "[05/17/2026-10:11:12] [TRT-LLM] [I] "
    if "weights" in terms:
        log.add(head + f"Memory used after loading model weights (inside torch) in memory usage profiling: {terms['weights']:.2f} GiB",
                weights=float(f"{terms['weights']:.2f}") * GIB)
    if "activation" in terms:
        log.add(head + "Memory dynamically allocated during inference (inside torch) in memory usage profiling: "
                f"{terms['activation']:.2f} GiB", activation=float(f"{terms['activation']:.2f}") * GIB)
    if "peak" in terms and "available" in terms:
        log.add(head + f"Peak memory during memory usage profiling (torch + non-torch): {terms['peak']:.2f} GiB, available KV cache "
                f"memory when calculating max tokens: {terms['available']:.2f} GiB, fraction is set 0.9, kv size is 70272. device "
                "total memory 79.18 GiB, , tmp kv_mem 0.54 GiB", peak=float(f"{terms['peak']:.2f}") * GIB,
                available=float(f"{terms['available']:.2f}") * GIB, total=79.18 * GIB)
    elif "available" in terms:
        log.add(head + f"Estimated max memory in KV cache : {terms['available']:.2f} GiB",
                available=float(f"{terms['available']:.2f}") * GIB)
    if "pool_tokens" in terms:
        log.add("[TensorRT-LLM][INFO] [MemUsageChange] Allocated 0.50 GiB for max tokens in paged KV cache (8224).")
        log.add(f"[TensorRT-LLM][INFO] [MemUsageChange] Allocated 9.99 GiB for max tokens in paged KV cache ({terms['pool_tokens']}).",
                pool_tokens=terms["pool_tokens"])
    return log


MIB = 2**20


def llamacpp(build, observed):
    """`observed`: model, kv, rs, compute by device in MiB; n_ctx, cells, layers, output, offloaded, total kv."""
    log = Log()
    number = int(build.lstrip("b")) if re.fullmatch(r"b?\d+", build or "") else 6000
    log.add(f"build: {number} (abcdef12) with cc (Debian 12.2.0) 12.2.0 for x86_64-linux-gnu")
    log.add("llama_model_loader: loaded meta data with 30 key-value pairs and 400 tensors from /models/Some-Model-Q4_K_M.gguf (version GGUF V3 (latest))")
    load = "load_tensors" if number >= 4500 else "llm_load_tensors"
    if "offloaded" in observed:
        a, b = observed["offloaded"].split("/")
        log.add(f"{load}: offloaded {a}/{b} layers to GPU", layers_offloaded=int(a), layers_total=int(b))
    for device, size in observed.get("model", {}).items():
        log.device(f"{load}: {device:>12} model buffer size = {size:8.2f} MiB", device, model_buffer=float(f"{size:.2f}") * MIB)
    context = ("llama_context" if number >= 5000 else "llama_init_from_model" if number >= 4600 else "llama_new_context_with_model")
    for name in ("n_ctx", "n_batch", "n_ubatch", "n_seq_max"):
        if isinstance(observed.get(name), int):
            log.add(f"{context}: {name:<13} = {observed[name]}", **{name: observed[name]})
    if "output" in observed:
        log.device(f"{context}:  CUDA_Host  output buffer size = {observed['output']:8.2f} MiB", "CUDA_Host",
                   output_buffer=float(f"{observed['output']:.2f}") * MIB)
    kv = "llama_kv_cache" if number >= 6500 else "llama_kv_cache_unified" if number >= 5400 else "llama_kv_cache_init"
    for device, size in observed.get("kv", {}).items():
        log.device(f"{kv}: {device:>10} KV buffer size = {size:8.2f} MiB", device, kv_buffer=float(f"{size:.2f}") * MIB)
    if "kv_total" in observed and "cells" in observed:
        half = observed["kv_total"] / 2
        if number >= 5400:
            log.add(f"{kv}: size = {observed['kv_total']:7.2f} MiB ({observed['cells']:6d} cells, {observed.get('layers', 32):3d} layers, "
                    f" 1/1 seqs), K (f16): {half:7.2f} MiB, V (f16): {half:7.2f} MiB",
                    kv_size=float(f"{observed['kv_total']:.2f}") * MIB, kv_cells=observed["cells"])
        else:
            log.add(f"{context}: KV self size  = {observed['kv_total']:7.2f} MiB, K (f16): {half:7.2f} MiB, V (f16): {half:7.2f} MiB",
                    kv_total=float(f"{observed['kv_total']:.2f}") * MIB)
    for device, size in observed.get("rs", {}).items():
        log.device(f"llama_memory_recurrent: {device:>10} RS buffer size = {size:8.2f} MiB", device,
                   rs_buffer=float(f"{size:.2f}") * MIB)
    compute = "sched_reserve" if 7600 <= number < 8200 else context
    for device, size in observed.get("compute", {}).items():
        log.device(f"{compute}: {device:>10} compute buffer size = {size:8.2f} MiB", device,
                   compute_buffer=float(f"{size:.2f}") * MIB)
    if "nodes" in observed:
        log.add(f"{context}: graph nodes  = {observed['nodes']}", graph_nodes=observed["nodes"])
    log.add("main: server is listening on http://127.0.0.1:8080 - starting the main loop")
    return log


def read_back(log, answer):
    """Fields that were not read, or read wrongly, as (field, written, read)."""
    seen = {}
    for reading in answer["verify"]["logged"]:
        seen.setdefault(reading["field"], []).append(reading)
    wrong = []
    for name, value in log.expect:
        field, device = name if isinstance(name, tuple) else (name, None)
        rows = [r for r in seen.get(field, []) if device is None or r.get("device") == device]
        values = [r[k] for r in rows for k in ("value", "smallest", "largest") if k in r]
        if not any(abs(float(v) - value) <= max(1, abs(value) * 1e-9) for v in values):
            wrong.append((name, value, values))
    return wrong
