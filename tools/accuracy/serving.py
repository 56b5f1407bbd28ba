"""vLLM, SGLang and TensorRT-LLM: weights, cache memory, pool and verdict."""
import copy

from .cases import Quantity
from .figures import Bars, Figure, Verdicts
from .planner import refused, value

ENGINES = ("vllm", "sglang", "trtllm")


def with_options(request, **options):
    changed = copy.deepcopy(request)
    changed.setdefault("engine", {}).setdefault("options", {}).update(options)
    return changed


def of_engine(cases, engine, figure, *measured):
    """The cases of an engine that say something about `figure` and print all of `measured`."""
    return [c for c in cases if c.kind == "serving" and c.engine == engine and c.serves(figure)
            and all(c.measured.get(m) is not None for m in measured)]


def given_memory(planner, cases):
    """vLLM's cache arithmetic alone: the logged cache memory is given."""
    count = Figure("vllm", "blocks, cache memory given", "", groups=("version",))
    chosen = of_engine(cases, "vllm", "pool, cache memory given", "cache_memory", "blocks")
    asked = [with_options(c.request, kv_cache_memory_bytes=int(c.printed("cache_memory").value)) for c in chosen]
    for case, answer in zip(chosen, planner.ask(asked)):
        seen, memory = case.measured["blocks"], case.printed("cache_memory")
        count.add(case, value(answer, "kv", "blocks"), Quantity(seen, seen * memory.slack / memory.value + 1),
                  why=refused(answer))
    pool = Figure("vllm", "pool, cache memory given", "")
    sequences = Figure("vllm", "maximum concurrency, cache memory given", "")
    chosen = of_engine(cases, "vllm", pool.name, "cache_memory", "pool_tokens")
    asked = [with_options(c.request, kv_cache_memory_bytes=int(c.printed("cache_memory").value)) for c in chosen]
    for case, answer in zip(chosen, planner.ask(asked)):
        tokens, memory = case.printed("pool_tokens").value, case.printed("cache_memory")
        rounding = memory.slack / memory.value
        block = max(16, tokens / max(1, value(answer, "kv", "blocks") or 10**9))
        pool.add(case, value(answer, "kv", "pool_tokens"), Quantity(tokens, tokens * rounding + block),
                 why=refused(answer))
        if case.measured.get("max_concurrency") is not None:
            seen = case.printed("max_concurrency")
            sequences.add(case, value(answer, "kv", "max_concurrency"),
                          Quantity(seen.value, seen.value * rounding + 0.006), why=refused(answer))
    return [pool, sequences, count]


def refusals(planner, cases):
    """What vLLM says when one sequence does not fit: memory needed, longest length that would."""
    need = Figure("vllm", "cache needed by one sequence", groups=("family",))
    longest = Figure("vllm", "estimated maximum length, cache memory given", "", groups=("family",))
    chosen = of_engine(cases, "vllm", need.name, "needed_cache")
    for case, answer in zip(chosen, planner.ask([c.request for c in chosen])):
        need.add(case, value(answer, "readings", "need", "kv_cache_bytes"), case.printed("needed_cache"),
                 why=refused(answer))
    chosen = of_engine(cases, "vllm", longest.name, "estimated_length", "cache_memory")
    asked = [with_options(c.request, kv_cache_memory_bytes=int(c.printed("cache_memory").value)) for c in chosen]
    for case, answer in zip(chosen, planner.ask(asked)):
        seen, memory = case.printed("estimated_length").value, case.printed("cache_memory")
        predicted = value(answer, "estimated_max_length")
        if predicted is None:
            predicted = value(answer, "longest_sequence_tokens")
        block = max(16, value(answer, "kv", "block_tokens") or 0)
        longest.add(case, predicted, Quantity(seen, seen * memory.slack / memory.value + block), why=refused(answer))
    return [need, longest]


def from_launch_line(planner, cases, engine):
    """Everything from the launch line and the card alone."""
    weights = Figure(engine, "weights")
    memory = Figure(engine, "cache memory from the launch line")
    pool = Figure(engine, "pool from the launch line", "")
    # SGLang prints no cache memory; the bar on its pool is the bar.
    bars = Bars(engine, "pool", "") if engine == "sglang" else Bars(engine, "cache memory")
    chosen = [c for c in cases if c.kind == "serving" and c.engine == engine]
    for case, answer in zip(chosen, planner.ask([c.request for c in chosen])):
        why = refused(answer)
        if case.serves(weights.name):
            weights.add(case, value(answer, "totals", "weights_bytes"), case.printed("weights"), why=why)
        seen = case.printed("cache_memory")
        if case.serves(memory.name) and seen and seen.value > 0:
            memory.add(case, value(answer, "kv", "available_bytes"), seen, why=why)
            low, likely, high = (value(answer, "kv", k) for k in (
                "available_low_bytes", "available_bytes", "available_high_bytes"))
            bars.add(case, low, likely, high, seen)
        if case.serves(pool.name) and case.measured.get("pool_tokens"):
            pool.add(case, value(answer, "kv", "pool_tokens"), Quantity(case.measured["pool_tokens"]), why=why)
            if engine == "sglang":
                scale = [value(answer, "kv", k) for k in ("available_low_bytes", "available_bytes",
                                                          "available_high_bytes", "pool_tokens")]
                if None not in scale and scale[1] > 0:
                    per_byte = scale[3] / scale[1]
                    bars.add(case, scale[0] * per_byte, scale[3], scale[2] * per_byte,
                             Quantity(case.measured["pool_tokens"]))
    return [weights, memory, pool, bars]


def start(planner, cases, engine="vllm"):
    """Does it start? A decision only inside the error bars (`tight`) is neither right nor wrong."""
    verdicts = Verdicts(engine, "will it start")
    chosen = of_engine(cases, engine, "will it start", "started")
    for case, answer in zip(chosen, planner.ask([c.request for c in chosen])):
        outcome = value(answer, "outcome") or "no answer"
        started = case.measured["started"]
        if outcome == "tight":
            right = None
        elif started:
            right = outcome == "fits"
        else:
            right = outcome in ("does_not_fit", "refuses_to_start")
        verdicts.add(case, "started" if started else "failed", outcome, right)
    return verdicts


def at_cache_memory(planner, requests, targets, rounds=4):
    """Answers to `requests` with the free memory moved until the cache gets `targets` bytes."""
    moved = [copy.deepcopy(r) for r in requests]
    answers = planner.ask(moved)
    for _ in range(rounds):
        for request, answer, target in zip(moved, answers, targets):
            available, device = value(answer, "kv", "available_bytes"), (value(answer, "devices") or [None])[0]
            if available is None or not device:
                continue
            hardware = request["hardware"]
            shift = (target - available) / (value(answer, "engine", "options", "mem_fraction_static") or 1.0)
            hardware["total_bytes"] = device["total_bytes"]
            used = int(device.get("used_bytes", 0) - shift)
            if used < 0:
                hardware["total_bytes"] -= used
            hardware["used_bytes"] = max(0, used)
        answers = planner.ask(moved)
    return answers


def sglang(planner, cases):
    """Bytes per token, and the pool once the memory after loading is known from the log."""
    per_token = Figure("sglang", "bytes per token", groups=("family",))
    chosen = of_engine(cases, "sglang", per_token.name, "pool_tokens", "pool_memory")
    for case, answer in zip(chosen, planner.ask([c.request for c in chosen])):
        tokens = case.measured["pool_tokens"]
        page = case.request["engine"].get("options", {}).get("page_size") or value(
            answer, "engine", "options", "page_size") or 1
        memory = case.printed("pool_memory")  # the pool holds one page that is never given out
        per_token.add(case, value(answer, "kv", "bytes_per_token"),
                      Quantity(memory.value / (tokens + page), memory.slack / tokens), why=refused(answer))
    pool = Figure("sglang", "pool, memory after loading given", "", groups=("family", "card"))
    chosen = of_engine(cases, "sglang", pool.name, "pool_tokens", "after_loading")
    chosen = [c for c in chosen if c.request["engine"].get("options", {}).get("mem_fraction_static")
              and (c.measured.get("before_loading") or c.measured.get("weights"))]
    targets = []
    for case in chosen:
        after = case.printed("after_loading").value
        before = case.printed("before_loading") or Quantity(after + case.printed("weights").value)
        fraction = case.request["engine"]["options"]["mem_fraction_static"]
        targets.append(after - before.value * (1 - fraction))
    for case, answer in zip(chosen, at_cache_memory(planner, [c.request for c in chosen], targets)):
        pool.add(case, value(answer, "kv", "pool_tokens"), Quantity(case.measured["pool_tokens"]), why=refused(answer))
    return [per_token, pool]


def trtllm(planner, cases):
    """Bytes per token, from the cache memory and the tokens printed beside it."""
    per_token = Figure("trtllm", "bytes per token", groups=("family",))
    chosen = of_engine(cases, "trtllm", per_token.name, "pool_tokens", "cache_memory")
    for case, answer in zip(chosen, planner.ask([c.request for c in chosen])):
        tokens, memory = case.measured["pool_tokens"], case.printed("cache_memory")
        seen = memory.value / tokens
        block = value(answer, "kv", "block_tokens") or 64
        per_token.add(case, value(answer, "kv", "bytes_per_token"),
                      Quantity(seen, seen * (memory.slack / memory.value + block / tokens)), why=refused(answer))
    return [per_token]


def suites(planner, cases):
    """name -> function giving figures."""
    return {
        "vllm pool": lambda: given_memory(planner, cases) + refusals(planner, cases),
        "vllm launch": lambda: from_launch_line(planner, cases, "vllm"),
        "vllm start": lambda: [start(planner, cases)],
        "sglang": lambda: sglang(planner, cases) + from_launch_line(planner, cases, "sglang"),
        "trtllm": lambda: trtllm(planner, cases) + from_launch_line(planner, cases, "trtllm"),
    }
