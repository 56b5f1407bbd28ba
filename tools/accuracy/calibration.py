"""What one saved run does for the other runs of its kind: each run is left out once.

Runs that share engine, release, card, number of cards and family form a group. Every run in turn is
what was saved (`vramwise verify --save`); the others are planned with and without it.
"""
import copy
import statistics
from dataclasses import dataclass

from .figures import Bars, Figure, Table
from .planner import value

NAMES = {"weights": "weights", "activation": "activations", "outside_torch": "non_torch", "graphs_estimated": "graphs"}
NOISE = 0.001


@dataclass
class Planned:
    case: object
    request: dict
    answer: dict


def planned_term(answer, term):
    if term == "weights":
        return value(answer, "totals", "weights_bytes")
    if term == "activations":
        return value(answer, "totals", "activations_bytes")
    item = {"non_torch": "kernels and libraries", "graphs": "CUDA graphs (estimate)"}[term]
    rows = [r["bytes"] for r in answer.get("ledger", []) if r.get("device") == 0 and r["item"] == item]
    return rows[0] if rows else None


def saved_run(run):
    """The run as `verify --save` keeps it: every printed term, and what only the cache shows."""
    case, answer = run.case, run.answer
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
    effective = value(answer, "engine", "options") or {}
    kept = ("max_num_batched_tokens", "max_num_seqs", "kv_cache_dtype", "enforce_eager", "chunked_prefill_size",
            "enable_expert_parallel")
    return {"engine": value(answer, "engine", "name"), "version": value(answer, "engine", "version") or "",
            "gpu": answer["devices"][0]["gpu"], "devices": len(answer["devices"]), "model": answer["model"]["id"],
            "family": answer["model"]["architecture"], "weights": answer["model"]["weights"],
            "options": {k: effective[k] for k in kept if k in effective}, "terms": terms}


def groups_of(planner, cases):
    chosen = [c for c in cases if c.kind == "serving" and c.engine == "vllm" and c.printed("cache_memory")
              and c.printed("cache_memory").value > 0 and c.serves("cache memory from the launch line")]
    found = {}
    requests = [{**copy.deepcopy(c.request), "levers": False} for c in chosen]
    for case, request, answer in zip(chosen, requests, planner.ask(requests)):
        if "kv" not in answer or not answer.get("devices"):
            continue
        release = ".".join((value(answer, "engine", "version") or "newest").split(".")[:2])
        key = (release, answer["devices"][0]["gpu"], len(answer["devices"]), answer["model"]["architecture"])
        found.setdefault(key, []).append(Planned(case, request, answer))
    return {key: runs for key, runs in sorted(found.items()) if len(runs) > 1}


def calibration(planner, cases):
    plain = Figure("vllm", "cache memory, nothing saved", groups=())
    saved = Figure("vllm", "cache memory, one run saved", groups=())
    bars = Bars("vllm", "cache memory, one run saved")
    table = Table("vllm", "one saved run, by group",
                  "Median error of the other runs of a group, without and with one of its runs saved.",
                  ["runs", "without", "with", "group"])
    for key, runs in groups_of(planner, cases).items():
        without, with_one = [], []
        for kept in runs:
            others = [r for r in runs if r is not kept]
            answers = planner.ask([{**r.request, "calibration": [saved_run(kept)]} for r in others])
            for run, answer in zip(others, answers):
                seen = run.case.printed("cache_memory")
                plain.add(run.case, value(run.answer, "kv", "available_bytes"), seen)
                saved.add(run.case, value(answer, "kv", "available_bytes"), seen)
                without.append(plain.rows[-1].error)
                with_one.append(saved.rows[-1].error)
                bars.add(run.case, *(value(answer, "kv", k) for k in (
                    "available_low_bytes", "available_bytes", "available_high_bytes")), seen)
        before, after = statistics.median(without), statistics.median([e for e in with_one if e is not None])
        table.rows.append([str(len(runs)), f"{100 * before:.2f} %", f"{100 * after:.2f} %",
                           " ".join(str(part) for part in key) + (", worse" if after > before + NOISE else "")])
    return [plain, saved, bars, table]


def suites(planner, cases):
    return {"vllm calibration": lambda: calibration(planner, cases)}
