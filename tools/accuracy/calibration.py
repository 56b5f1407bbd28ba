"""What one saved run does for the other runs of its kind: each run is left out once.

Runs that share engine, release, card, number of cards and family form a group. Every run in turn is
what was saved (`vramwise verify --save`); the others are planned with and without it.
"""
import copy
import statistics
from dataclasses import dataclass

from .figures import Bars, Figure, Table
from .planner import value

# What is compared: the name of a figure, what the log prints, where the answer has it.
COMPARED = {"vllm": ("cache memory", "cache_memory", "available_bytes"), "sglang": ("pool", "pool_tokens", "pool_tokens"),
            "trtllm": ("cache memory", "cache_memory", "available_bytes")}
NAMES = {"weights": "weights", "activation": "activations", "outside_torch": "non_torch", "graphs_estimated": "graphs"}
NOISE = 0.001


@dataclass
class Planned:
    case: object
    request: dict
    answer: dict


def row(answer, item):
    rows = [r["bytes"] for r in answer.get("ledger", []) if r.get("device") == 0 and r["item"] == item]
    return rows[0] if rows else None


def logged(answer, begins):
    lines = [line["value"] for line in answer.get("log", []) if line["line"].startswith(begins)]
    return lines[0] if lines else None


def planned_term(answer, term):
    if term == "weights":
        return value(answer, "totals", "weights_bytes")
    if term == "activations":
        return value(answer, "totals", "activations_bytes")
    item = {"non_torch": "kernels and libraries", "graphs": "CUDA graphs (estimate)"}[term]
    return row(answer, item)


def vllm_terms(case, answer):
    """Every printed term, and what only the cache shows."""
    terms, explained = {}, 0
    for printed, term in NAMES.items():
        measured, planned = case.printed(printed), planned_term(answer, term)
        if measured is None or planned is None:
            continue
        terms[term] = {"planned_bytes": int(planned), "measured_bytes": int(measured.value)}
        explained += measured.value - planned
    if "activations" not in terms:
        rest = value(answer, "kv", "available_bytes") - case.printed("cache_memory").value - explained
        planned = planned_term(answer, "activations")
        terms["activations"] = {"planned_bytes": int(planned), "measured_bytes": int(planned + rest)}
    return terms


def sglang_terms(case, answer):
    """Free memory before loading, and what loading took of it."""
    weights, after, before = (case.printed(k) for k in ("weights", "after_loading", "before_loading"))
    terms = {}
    if weights:
        terms["weights"] = {"planned_bytes": int(logged(answer, "Load weight end")), "measured_bytes": int(weights.value)}
    if before or (weights and after):
        free = before.value if before else after.value + weights.value
        device = answer["devices"][0]
        terms["non_torch"] = {"planned_bytes": int(row(answer, "CUDA context and communication")),
                              "measured_bytes": int(device["total_bytes"] - device.get("used_bytes", 0) - free)}
    return terms


def trtllm_terms(case, answer):
    """The weights, and what the peak of the trial run holds beside them."""
    weights, peak, cache = (case.printed(k) for k in ("weights", "peak", "cache_memory"))
    terms, explained = {}, 0
    if weights:
        planned = logged(answer, "Memory used after loading model weights")
        terms["weights"] = {"planned_bytes": int(planned), "measured_bytes": int(weights.value)}
        explained = weights.value - planned
    planned = row(answer, "runtime, communication, graphs and activations")
    if peak:
        rest = peak.value - logged(answer, "Peak memory") - explained
    else:
        fraction = value(answer, "engine", "options")["free_gpu_memory_fraction"]
        rest = (value(answer, "kv", "available_bytes") - cache.value) / fraction - explained
    terms["activations"] = {"planned_bytes": int(planned), "measured_bytes": int(planned + rest)}
    return terms


TERMS = {"vllm": vllm_terms, "sglang": sglang_terms, "trtllm": trtllm_terms}


def saved_run(run):
    """The run as `verify --save` keeps it."""
    answer = run.answer
    terms = TERMS[run.case.engine](run.case, answer)
    effective = value(answer, "engine", "options") or {}
    kept = ("max_num_batched_tokens", "max_num_seqs", "kv_cache_dtype", "enforce_eager", "chunked_prefill_size",
            "enable_expert_parallel")
    moe = value(answer, "engine", "options", "moe_config", "backend")
    return {"engine": value(answer, "engine", "name"), "version": value(answer, "engine", "version") or "",
            "gpu": answer["devices"][0]["gpu"], "devices": len(answer["devices"]), "model": answer["model"]["id"],
            "family": answer["model"]["architecture"], "weights": answer["model"]["weights"],
            "options": {**{k: effective[k] for k in kept if k in effective}, **({"moe_config.backend": moe} if moe else {})},
            "terms": terms}


def groups_of(planner, cases, engine):
    name, printed, _ = COMPARED[engine]
    chosen = [c for c in cases if c.kind == "serving" and c.engine == engine and c.printed(printed)
              and c.printed(printed).value > 0 and c.serves(name + " from the launch line")]
    found = {}
    requests = [{**copy.deepcopy(c.request), "levers": False} for c in chosen]
    for case, request, answer in zip(chosen, requests, planner.ask(requests)):
        if "kv" not in answer or not answer.get("devices"):
            continue
        release = ".".join((value(answer, "engine", "version") or "newest").split(".")[:2])
        key = (release, answer["devices"][0]["gpu"], len(answer["devices"]), answer["model"]["architecture"])
        found.setdefault(key, []).append(Planned(case, request, answer))
    return {key: runs for key, runs in sorted(found.items()) if len(runs) > 1}


def calibration(planner, cases, engine="vllm"):
    name, printed, answered = COMPARED[engine]
    plain = Figure(engine, name + ", nothing saved", *(() if answered.endswith("_bytes") else ("",)), groups=())
    saved = Figure(engine, name + ", one run saved", *(() if answered.endswith("_bytes") else ("",)), groups=())
    bars = Bars(engine, name + ", one run saved", *(() if answered.endswith("_bytes") else ("",)))
    table = Table(engine, "one saved run, by group",
                  "Median error of the other runs of a group, without and with one of its runs saved.",
                  ["runs", "without", "with", "group"])
    off, better = 0, 0  # groups whose median was off by more than 2 %, and those among them that got better
    for key, runs in groups_of(planner, cases, engine).items():
        without, with_one = [], []
        for kept in runs:
            others = [r for r in runs if r is not kept]
            answers = planner.ask([{**r.request, "calibration": [saved_run(kept)]} for r in others])
            for run, answer in zip(others, answers):
                seen = run.case.printed(printed)
                plain.add(run.case, value(run.answer, "kv", answered), seen)
                saved.add(run.case, value(answer, "kv", answered), seen)
                without.append(plain.rows[-1].error)
                with_one.append(saved.rows[-1].error)
                low, likely, high = (value(answer, "kv", k) for k in (
                    "available_low_bytes", "available_bytes", "available_high_bytes"))
                scale = value(answer, "kv", answered) / likely if likely else 1
                bars.add(run.case, low * scale, likely * scale, high * scale, seen)
        before, after = statistics.median(without), statistics.median([e for e in with_one if e is not None])
        # Three figures printed with two decimals (before, after, weights) hide that much of the smallest cache.
        noise = max(NOISE, 0.018 * 2**30 / min(value(r.answer, "kv", "available_bytes") for r in runs))
        off += before > 0.02
        better += before > 0.02 and after < before
        table.rows.append([str(len(runs)), f"{100 * before:.2f} %", f"{100 * after:.2f} %",
                           " ".join(str(part) for part in key) + (", worse" if after > before + noise else "")])
    table.words += f" {better} of the {off} groups that were off by more than 2 % got better."
    return [plain, saved, bars, table]


def suites(planner, cases):
    return {f"{engine} calibration": lambda engine=engine: calibration(planner, cases, engine) for engine in COMPARED}
