"""Writes the startup log of a vLLM release; see log_writer.py."""
from log_lines import GIB, Log, printed_gib, version_tuple


class _Writer:
    """Terms in GiB as printed: weights, available, total, budget, activation, non_torch, consumed, graphs,
    graphs_estimated, checkpoint, free_at_start, needed; of 0.6.4 peak_torch, initial_usage, usage_after. Counts:
    pool_tokens, blocks, cpu_blocks, concurrency, concurrency_len, estimated_len. A torch error: tried, free, process."""

    def __init__(self, version, terms, options, model, prefix):
        self.version, self.terms, self.options, self.model, self.prefix = version, terms, options, model, prefix
        self.v, self.log = version_tuple(version), Log()
        self.first_engine = self.v < (0, 8, 0)
        self.length = options.get("max_model_len", 8192)

    def head(self, file, level="INFO"):
        opened, closed = ("", "] ") if self.first_engine else ("[", "] ")
        return f"{self.prefix}{level} 05-17 10:11:12 {opened}{file}{closed}"

    def text(self, name, digits=2):
        return f"{self.terms[name]:.{digits}f}"

    def fields(self, **fields):
        """field=term -> what its print with two decimals stands for."""
        return {field: printed_gib(self.terms[term]) for field, term in fields.items()}

    def has(self, *names):
        return set(names) <= set(self.terms)

    def share(self):
        return self.options.get("gpu_memory_utilization", 0.9 if self.v < (0, 20, 0) else 0.92)

    def identity(self):
        options, model, log = self.options, self.model, self.log
        arguments = ", ".join(f"{name!r}: {value!r}" for name, value in {"model": model, **options}.items())
        if self.v >= (0, 9, 0):
            log.add(self.head("utils.py:233") + "non-default args: {" + arguments + "}")
        engine = "an LLM engine" if self.first_engine else "a V1 LLM engine"
        number = f" (v{self.version})" if self.v >= (0, 6, 0) else ""
        log.add(self.head("core.py:77") + f"Initializing {engine}{number} with config: model='{model}', "
                f"speculative_config=None, tokenizer='{model}', dtype=torch.bfloat16, max_seq_len={self.length}, "
                f"tensor_parallel_size={options.get('tensor_parallel_size', 1)}, pipeline_parallel_size=1, "
                "quantization=None, enforce_eager=False, kv_cache_dtype=auto")

    def weights(self):
        if self.has("checkpoint") and self.v >= (0, 19, 0):
            self.log.add(self.head("weight_utils.py:50") + f"Checkpoint size: {self.text('checkpoint')} GiB. Available RAM: "
                         "251.00 GiB.", **self.fields(checkpoint="checkpoint"))
        if not self.has("weights"):
            return
        v = self.v
        w = self.text("weights", 4 if v < (0, 15, 0) else 2)
        if v >= (0, 15, 0):  # a trailing zero is dropped
            w = f"{float(w):g}" if "." in f"{float(w):g}" else f"{float(w):.1f}"
        wording = (f"Loading model weights took {w} GB" if v < (0, 8, 0) else
                   f"Model loading took {w} GB and 12.345678 seconds" if v < (0, 8, 5) else
                   f"Model loading took {w} GiB and 12.345678 seconds" if v < (0, 11, 1) else
                   f"Model loading took {w} GiB memory and 12.345678 seconds")
        if v >= (0, 4, 0):
            self.log.add(self.head("gpu_model_runner.py:1234") + wording, weights=float(w) * GIB)

    def profile(self):
        terms, log, v = self.terms, self.log, self.v
        if self.has("graphs_estimated"):
            log.add(self.head("gpu_model_runner.py:5500") + f"Estimated CUDA graph memory: {self.text('graphs_estimated')} GiB "
                    "total", **self.fields(graphs_estimated="graphs_estimated"))
        if self.has("peak_torch", "initial_usage", "usage_after", "total", "non_torch", "available"):
            # One message of 0.6.4, over several lines in 0.6.5.
            gap = " " if v < (0, 6, 5) else "\n\t"
            log.add(self.head("worker.py:232") + f"Memory profiling results: total_gpu_memory={self.text('total')}GiB{gap}"
                    f"initial_memory_usage={self.text('initial_usage')}GiB peak_torch_memory={self.text('peak_torch')}GiB{gap}"
                    f"memory_usage_post_profile={self.text('usage_after')}GiB non_torch_memory={self.text('non_torch')}GiB{gap}"
                    f"kv_cache_size={self.text('available')}GiB gpu_memory_utilization={self.share():.2f}",
                    **self.fields(total="total", initial_usage="initial_usage", peak_torch="peak_torch",
                                  usage_after="usage_after", non_torch="non_torch", available="available"))
            return
        whole = self.has("total", "activation", "non_torch", "weights", "available")
        if self.first_engine and whole and v >= (0, 6, 5):
            share = self.share()
            budget = f"{terms.get('budget', terms['total'] * share):.2f}"
            log.add(self.head("worker.py:267") + "Memory profiling takes 1.23 seconds")
            log.add(f"the current vLLM instance can use total_gpu_memory ({self.text('total')}GiB) x gpu_memory_utilization "
                    f"({share:.2f}) = {budget}GiB", budget=float(budget) * GIB, **self.fields(total="total"))
            log.add(f"model weights take {self.text('weights')}GiB; non_torch_memory takes {self.text('non_torch')}GiB; PyTorch "
                    f"activation peak memory takes {self.text('activation')}GiB; the rest of the memory reserved for KV Cache is "
                    f"{self.text('available')}GiB.",
                    **self.fields(non_torch="non_torch", activation="activation", available="available"))
            return
        if self.has("activation", "non_torch", "weights") and v >= (0, 9, 0) and not self.has("consumed"):
            other = sum(terms[name] for name in ("activation", "non_torch", "weights"))
            log.add(self.head("v1/worker/gpu_worker.py:290", "DEBUG") + f"Memory profiling takes 1.23 seconds. Total non KV cache "
                    f"memory: {other:.2f}GiB; torch peak memory increase: {self.text('activation')}GiB; non-torch forward "
                    f"increase memory: {self.text('non_torch')}GiB; weights memory: {self.text('weights')}GiB.",
                    **self.fields(activation="activation", non_torch="non_torch", weights_in_profile="weights"))
        if self.has("available") and not self.first_engine:
            log.add(self.head("gpu_worker.py:298") + f"Available KV cache memory: {self.text('available')} GiB",
                    **self.fields(available="available"))

    def pool(self):
        terms, log, v = self.terms, self.log, self.v
        if self.has("blocks"):
            device, host = "cuda" if v >= (0, 7, 0) else "GPU", terms.get("cpu_blocks", 2048)
            log.add(self.head("executor_base.py:111") + f"# {device} blocks: {terms['blocks']}, # CPU blocks: {host}",
                    blocks=terms["blocks"], cpu_blocks=host)
        tokens = f"GPU KV cache size: {terms['pool_tokens']:,} tokens" if self.has("pool_tokens") else ""
        concurrency = ""
        if self.has("concurrency"):
            per = terms.get("concurrency_len", self.length)
            concurrency = (f"Maximum concurrency for {per if self.first_engine else format(per, ',')} tokens per request: "
                           f"{terms['concurrency']:.2f}x")
        expect = {"pool_tokens": terms["pool_tokens"]} if tokens else {}
        ratio = {"concurrency": float(f"{terms['concurrency']:.2f}"),
                 "concurrency_length": terms.get("concurrency_len", self.length)} if concurrency else {}
        if tokens and concurrency and v >= (0, 26, 0):  # one line since mid-2026
            log.add(self.head("kv_cache_utils.py:2312") + f"{tokens}, {concurrency}", **expect, **ratio)
            return
        if tokens:
            log.add(self.head("kv_cache_utils.py:1087") + tokens, **expect)
        if concurrency:
            log.add(self.head("kv_cache_utils.py:1091") + concurrency, **ratio)

    def refusal(self):
        """The message of a start that did not come up; answers whether there is one."""
        terms, log = self.terms, self.log
        if self.has("needed"):
            available = terms.get("available", 0.0)
            estimate = (f"Based on the available memory, the estimated maximum model length is {terms['estimated_len']}. "
                        if self.has("estimated_len") else "")
            expect = {"failure_needed": printed_gib(terms["needed"]), "failure_available": printed_gib(available)}
            if estimate:
                expect["failure_estimated_length"] = terms["estimated_len"]
            log.add(self.head("core.py:708", "ERROR") + "ValueError: To serve at least one request with the models's max seq "
                    f"len ({self.length}), ({self.text('needed')} GiB KV cache is needed, which is larger than the available KV "
                    f"cache memory ({available:.2f} GiB). {estimate}Try increasing `gpu_memory_utilization` or decreasing "
                    "`max_model_len` when initializing the engine.", **expect)
        elif self.has("state_blocks"):
            sequences = self.options.get("max_num_seqs", 1024)
            log.add(self.head("core.py:708", "ERROR") + f"ValueError: max_num_seqs ({sequences}) exceeds available Mamba cache blocks "
                    f"({terms['state_blocks']}). Each decode sequence requires one Mamba cache block, so CUDA graph capture "
                    f"cannot proceed. Please lower max_num_seqs to at most {terms['state_blocks']} or increase "
                    "gpu_memory_utilization.", failure_needed=sequences, failure_available=terms["state_blocks"])
        elif self.has("tried", "free", "total"):
            process = f"Including non-PyTorch memory, this process has {self.text('process')} GiB memory in use. " \
                if self.has("process") else ""
            log.add(f"{self.prefix}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {self.text('tried')} GiB. GPU 0 has a "
                    f"total capacity of {self.text('total')} GiB of which {self.text('free')} GiB is free. {process}Of the allocated "
                    "memory 10.00 GiB is allocated by PyTorch, and 0.10 GiB is reserved by PyTorch but unallocated.",
                    failure_needed=printed_gib(terms["tried"]), failure_available=printed_gib(terms["free"]))
        elif terms.get("oom") and self.has("free_at_start", "total", "budget"):
            log.add(self.head("core.py:708", "ERROR") + f"ValueError: Free memory on device cuda:0 ({self.text('free_at_start')}/"
                    f"{self.text('total')} GiB) on startup is less than desired GPU memory utilization ({self.share()}, "
                    f"{self.text('budget')} GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
                    failure_needed=printed_gib(terms["budget"]), failure_available=printed_gib(terms["free_at_start"]))
        elif terms.get("oom") and self.has("free", "total"):  # the size asked for was not published
            log.add(f"{self.prefix}torch.AcceleratorError: CUDA error: out of memory", failure_kind="out_of_memory")
        elif terms.get("oom") and self.first_engine and (self.has("blocks") or self.has("pool_tokens")):
            tokens = terms["blocks"] * 16 if self.has("blocks") else terms["pool_tokens"]
            log.add(self.prefix + f"ValueError: The model's max seq len ({self.length}) is larger than the maximum number of tokens that "
                    f"can be stored in KV cache ({tokens}). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` "
                    "when initializing the engine.", failure_needed=self.length, failure_available=tokens)
        elif terms.get("oom") and terms.get("available", 1) <= 0:
            log.add(self.head("core.py:708", "ERROR") + "ValueError: No available memory for the cache blocks. Try increasing "
                    "`gpu_memory_utilization` when initializing the engine.", failure_available=printed_gib(terms["available"]))
        elif terms.get("oom") and (self.has("weights") or self.has("available")):
            # Its figures were not published: the line as a terminal cuts it off.
            log.add(self.head("core.py:708", "ERROR") + "ValueError: To serve at least one request with the models's max seq "
                    f"len ({self.length}), (", failure_kind="cache_too_small")
        else:
            return False
        return True

    def ready(self):
        terms, log, v = self.terms, self.log, self.v
        if self.has("graphs") and v >= (0, 6, 2):
            log.add(self.head("model_runner.py:1500") + f"Graph capturing finished in 21 secs, took {self.text('graphs')} GiB",
                    **self.fields(graphs="graphs"))
        summed = self.has("consumed", "activation", "total")
        apart = self.has("total", "activation", "non_torch", "weights", "available")
        if (summed and v >= (0, 24, 0)) or (apart and v >= (0, 10, 2)):
            free, share = terms.get("free_at_start", terms["total"] - 0.5), self.share()
            budget = f"{terms.get('budget', terms['total'] * share):.2f}"
            used = (f"{self.text('consumed')} GiB for consumed memory (weights + non-torch), {self.text('activation')} GiB for peak "
                    "activation" if summed and v >= (0, 24, 0) else
                    f"{self.text('weights')} GiB for weight, {self.text('activation')} GiB for peak activation, "
                    f"{self.text('non_torch')} GiB for non-torch memory")
            expect = self.fields(total="total", **({"consumed": "consumed", "activation_with_graphs": "activation"}
                                                   if summed and v >= (0, 24, 0) else
                                                   {"activation": "activation", "non_torch": "non_torch"}))
            in_use = int(terms.get("available", 0) * GIB)
            log.add(self.head("gpu_worker.py:391") + f"Free memory on device ({free:.2f}/{self.text('total')} GiB) on startup. Desired "
                    f"GPU memory utilization is ({share}, {budget} GiB). Actual usage is {used}, and "
                    f"{terms.get('graphs', 0):.2f} GiB for CUDAGraph memory. Replace gpu_memory_utilization config with "
                    "`--kv-cache-memory=1` to fit into requested memory, or `--kv-cache-memory=2` to fully utilize gpu memory. "
                    f"Current kv cache memory in use is {in_use} bytes.", free_at_start=printed_gib(free), **expect)
        log.add(f"{self.prefix}INFO:     Application startup complete.")


def vllm(version, terms, options=None, model="org/model", prefix=""):
    writer = _Writer(version, terms, options or {}, model, prefix)
    writer.identity()
    writer.weights()
    writer.profile()
    writer.pool()
    if not writer.refusal():
        writer.ready()
    return writer.log
