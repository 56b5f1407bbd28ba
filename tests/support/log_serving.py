"""Writes the startup logs of SGLang and TensorRT-LLM releases; see log_writer.py."""
from log_lines import GIB, MIB, Log, printed_gib, version_tuple


def _sglang_pools(log, stamp, terms, v):
    size = lambda name: f"{terms[name]:.2f}"  # noqa: E731
    if "state_slots" in terms:
        log.add(stamp + f"Mamba Cache is allocated. max_mamba_cache_size: {terms['state_slots']}, conv_state size: "
                f"{terms.get('conv_state', 0):.2f}GB, ssm_state size: {terms.get('ssm_state', 0):.2f}GB ",
                state_slots=terms["state_slots"], conv_state=printed_gib(terms.get("conv_state", 0)),
                ssm_state=printed_gib(terms.get("ssm_state", 0)))
    if "swa_tokens" in terms:
        full = terms.get("pool_tokens", terms.get("full_tokens", 0))
        log.add(stamp + f"Use sliding window memory pool. full_layer_tokens={full}, swa_layer_tokens={terms['swa_tokens']}",
                swa_layer_tokens=terms["swa_tokens"], full_layer_tokens=full)
    dtype = "dtype: torch.bfloat16, " if v >= (0, 5, 12) else ""
    if "swa_k" in terms and "swa_tokens" in terms:
        log.add(stamp + f"KV Cache is allocated. {dtype}#tokens: {terms['swa_tokens']}, K size: {size('swa_k')} GB, V size: "
                f"{size('swa_v')} GB", window_k_memory=printed_gib(terms["swa_k"]),
                window_v_memory=printed_gib(terms["swa_v"]), window_pool_tokens=terms["swa_tokens"])
    if "k" in terms and v < (0, 4, 2):
        log.add(stamp + f"KV Cache is allocated. K size: {size('k')} GB, V size: {size('v')} GB.",
                k_memory=printed_gib(terms["k"]), v_memory=printed_gib(terms["v"]))
    elif "k" in terms and "pool_tokens" in terms:
        log.add(stamp + f"KV Cache is allocated. {dtype}#tokens: {terms['pool_tokens']}, K size: {size('k')} GB, V size: "
                f"{size('v')} GB", pool_tokens=terms["pool_tokens"], k_memory=printed_gib(terms["k"]),
                v_memory=printed_gib(terms["v"]))
    elif "kv" in terms and "pool_tokens" in terms:
        log.add(stamp + f"KV Cache is allocated. {dtype}#tokens: {terms['pool_tokens']}, KV size: {size('kv')} GB",
                pool_tokens=terms["pool_tokens"], kv_memory=printed_gib(terms["kv"]))
    if "after_pool" in terms:
        log.add(stamp + f"Memory pool end. avail mem={size('after_pool')} GB", after_pool=printed_gib(terms["after_pool"]))


def _sglang_graphs(log, stamp, terms, v):
    after = terms.get("after_graphs", 1.0)
    if "before_graphs" in terms:
        log.add(stamp + "Capture cuda graph begin. This can take up to several minutes. avail "
                f"mem={terms['before_graphs']:.2f} GB", before_graphs=printed_gib(terms["before_graphs"]))
    if "graphs" in terms:
        words = ("Capture target decode CUDA graph end. backend=breakable, elapsed=3.21 s, " if v >= (0, 5, 14) else
                 "Capture cuda graph end. Time elapsed: 3.21 s. ")
        gap = ", " if v >= (0, 5, 14) else ". "
        log.add(stamp + words + f"mem usage={terms['graphs']:.2f} GB{gap}avail mem={after:.2f} GB.",
                graphs=printed_gib(terms["graphs"]), after_graphs=printed_gib(after))


def sglang(terms, options=None, model="org/model", ranks=1, version=None):
    """`terms` in GiB: context, before_loading, after_loading, weights, k, v or kv, swa_k, swa_v, conv_state, ssm_state,
    after_pool, before_graphs, graphs, after_graphs; counts: pool_tokens, swa_tokens, state_slots, max_tokens."""
    log, v = Log(), version_tuple(version or "0.5.9")
    arguments = ", ".join(f"{name}={value!r}" for name, value in {"model_path": model, **(options or {})}.items())
    log.add(f"[2026-05-17 10:11:12] server_args=ServerArgs({arguments})")
    for rank in range(ranks):
        stamp = f"[2026-05-17 10:11:12 TP{rank}] " if ranks > 1 else "[2026-05-17 10:11:12] "
        if "context" in terms:
            log.add(stamp + f"Init torch distributed ends. elapsed=1.20 s, mem usage={terms['context']:.2f} GB",
                    context=printed_gib(terms["context"]))
        if "before_loading" in terms:
            log.add(stamp + f"Load weight begin. avail mem={terms['before_loading']:.2f} GB",
                    before_loading=printed_gib(terms["before_loading"]))
        if "weights" in terms or "after_loading" in terms:
            elapsed = "elapsed=3.21 s, " if v >= (0, 5, 7) else ""
            usage, expect = "", {}
            after = f"avail mem={terms.get('after_loading', 1.0):.2f} GB"
            if "after_loading" in terms:
                expect["after_loading"] = printed_gib(terms["after_loading"])
            if "weights" in terms and v >= (0, 4, 3):
                usage = f", mem usage={terms['weights']:.2f} GB."
                expect["weights"] = printed_gib(terms["weights"])
            log.add(stamp + f"Load weight end. {elapsed}type=Model, dtype=torch.bfloat16, {after}{usage}", **expect)
        _sglang_pools(log, stamp, terms, v)
        _sglang_graphs(log, stamp, terms, v)
        if "max_tokens" in terms:
            left = f", available_gpu_mem={terms['after_graphs']:.2f} GB" if "after_graphs" in terms else ""
            log.add(stamp + f"max_total_num_tokens={terms['max_tokens']}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
                    f"max_running_requests=2048, context_len=32768{left}", max_total_tokens=terms["max_tokens"])
    log.add("[2026-05-17 10:11:12] The server is fired up and ready to roll!")
    return log


def _trtllm_runtime(log, terms):
    """The C++ runtime's lines, of engines and of the PyTorch flow alike."""
    info = "[TensorRT-LLM][INFO] "
    if "engine_mib" in terms:
        log.add(info + f"Loaded engine size: {terms['engine_mib']} MiB", weights=terms["engine_mib"] * MIB)
    if "execution_context_mib" in terms:
        log.add(info + f"[MemUsageChange] Allocated {terms['execution_context_mib']:.2f} MiB for execution context memory.",
                execution_context=float(f"{terms['execution_context_mib']:.2f}") * MIB)
    for name, words in (("runtime_buffers_mib", "runtime buffers"), ("decoder_mib", "decoder")):
        if name in terms:
            log.add(info + f"[MemUsageChange] Allocated {terms[name]:.2f} MB GPU memory for {words}.",
                    **{name[:-4]: float(f"{terms[name]:.2f}") * MIB})
    if "total" in terms and "free_at_sizing" in terms:
        log.add(info + f"Memory usage when calculating max tokens in paged kv cache: total: {terms['total']:.2f} GiB, available: "
                f"{terms['free_at_sizing']:.2f} GiB", total=printed_gib(terms["total"]),
                free_at_sizing=printed_gib(terms["free_at_sizing"]))
    if "blocks" in terms:
        log.add(info + f"Number of blocks in KV cache primary pool: {terms['blocks']}", blocks=terms["blocks"])
    if "tokens_per_block" in terms:
        log.add(info + f"Number of tokens per block: {terms['tokens_per_block']}.", block_tokens=terms["tokens_per_block"])


def trtllm(terms, version=None):
    """`terms` in GiB: weights, weights_outside_torch, activation, peak, available, total, free_at_sizing,
    temporary_cache, pool_memory; in MiB engine_mib, execution_context_mib, runtime_buffers_mib, decoder_mib; counts."""
    log, v = Log(), version_tuple(version or "1.1.0")
    log.add(f"[TensorRT-LLM] TensorRT-LLM version: {version or '1.1.0'}")
    _trtllm_runtime(log, terms)
    head = "[05/17/2026-10:11:12] [TRT-LLM] [I] "
    for name, words, field in (("weights", "Memory used after loading model weights (inside torch)", "weights"),
                               ("weights_outside_torch", "Memory used after loading model weights (outside torch)",
                                "weights_outside_torch"),
                               ("activation", "Memory dynamically allocated during inference (inside torch)", "activation")):
        if name in terms:
            log.add(head + f"{words} in memory usage profiling: {terms[name]:.2f} GiB", **{field: printed_gib(terms[name])})
    if "peak" in terms and "available" in terms:
        expect = {"peak": printed_gib(terms["peak"]), "available": printed_gib(terms["available"])}
        tail = ""
        if v >= (1, 0, 0):
            total, kept = terms.get("total", 79.18), terms.get("temporary_cache", 0.54)
            name = "tmp kv_mem" if v < (1, 2, 0) else "temporary kv cache memory during profiling"
            tail = f", fraction is set 0.9, kv size is 70272. device total memory {total:.2f} GiB, , {name} {kept:.2f} GiB"
            expect.update(total=printed_gib(total), temporary_cache=printed_gib(kept))
        log.add(head + f"Peak memory during memory usage profiling (torch + non-torch): {terms['peak']:.2f} GiB, available KV cache "
                f"memory when calculating max tokens: {terms['available']:.2f} GiB{tail}", **expect)
    elif "available" in terms and "free_at_sizing" not in terms:
        log.add(head + f"Estimated max memory in KV cache : {terms['available']:.2f} GiB",
                available=printed_gib(terms["available"]))
    if "pool_tokens" in terms and v < (0, 9, 0):
        size = int(terms.get("pool_memory", 1.0) * GIB)
        log.add(f"[TensorRT-LLM][INFO] Allocate {size} bytes for k/v cache. ", pool_memory=size)
        log.add(f"[TensorRT-LLM][INFO] Using {terms['pool_tokens']} tokens in paged KV cache.", pool_tokens=terms["pool_tokens"])
    elif "pool_tokens" in terms:
        size = terms.get("pool_memory", 9.99)
        log.add("[TensorRT-LLM][INFO] [MemUsageChange] Allocated 0.50 GiB for max tokens in paged KV cache (8224).")
        log.add(f"[TensorRT-LLM][INFO] [MemUsageChange] Allocated {size:.2f} GiB for max tokens in paged KV cache "
                f"({terms['pool_tokens']}).", pool_tokens=terms["pool_tokens"], pool_memory=printed_gib(size))
    return log
