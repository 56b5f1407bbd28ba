"""What one saved run does for the other runs of its kind: each run is left out once.

Runs that share engine, release, card, number of cards and family form a group. Every run in turn is
what was saved (`vramwise verify --save`); the others are planned with and without it.
"""
import copy
import json
import os
import statistics
from dataclasses import dataclass

from . import rebuilt
from .cases import ROOT
from .figures import Bars, Figure, Table
from .planner import value

# What is compared: the name of a figure, what the log prints, where the answer has it.
COMPARED = {"vllm": ("cache memory", "cache_memory", "available_bytes"), "sglang": ("pool", "pool_tokens", "pool_tokens"),
            "trtllm": ("cache memory", "cache_memory", "available_bytes")}
NOISE = 0.001


@dataclass
class Planned:
    case: object
    request: dict
    answer: dict


def is_unified(gpu):
    """Is the card's memory the host's, by the catalog?"""
    path = os.path.join(ROOT, "catalog", "gpus", f"{gpu}.json")
    if not os.path.exists(path):
        return False
    with open(path) as f:
        return json.load(f).get("unified_memory", False) is True


def saved_run(planner, run):
    """The run as `verify --save` keeps it: its log written anew, read, and set beside its plan."""
    row = rebuilt.row_of(run.case)
    effective = value(run.answer, "engine", "options") or {}
    row["options"] = {**{k: effective[k] for k in ("max_model_len", "gpu_memory_utilization") if k in effective},
                      **row["options"]}
    log = rebuilt.write(row)
    answer = planner.ask([{"ask": "verify", **run.case.request, "log": log.text}])[0]
    return value(answer, "verify", "measured")


def groups_of(planner, cases, engine):
    name, printed, _ = COMPARED[engine]
    chosen = [c for c in cases if c.kind == "serving" and c.engine == engine and c.printed(printed)
              and c.printed(printed).value > 0 and not c.other_code and c.serves(name + " from the launch line")]
    found = {}
    requests = [{**copy.deepcopy(c.request), "levers": False} for c in chosen]
    for case, request, answer in zip(chosen, requests, planner.ask(requests)):
        if "kv" not in answer or not answer.get("devices"):
            continue
        release = ".".join((value(answer, "engine", "version") or "newest").split(".")[:2])
        key = (release, answer["devices"][0]["gpu"], len(answer["devices"]), answer["model"]["architecture"])
        found.setdefault(key, []).append(Planned(case, request, answer))
    return {key: runs for key, runs in sorted(found.items()) if len(runs) > 1}


def between(runs, printed, answered):
    """Does the plan lie between two runs? What moves it towards one moves it away from the other."""
    above = {value(r.answer, "kv", answered) > r.case.printed(printed).value for r in runs}
    return len(runs) == 2 and len(above) == 2


def calibration(planner, cases, engine="vllm"):
    name, printed, answered = COMPARED[engine]
    plain = Figure(engine, name + ", nothing saved", *(() if answered.endswith("_bytes") else ("",)), groups=())
    saved = Figure(engine, name + ", one run saved", *(() if answered.endswith("_bytes") else ("",)), groups=())
    bars = Bars(engine, name + ", one run saved", *(() if answered.endswith("_bytes") else ("",)))
    table = Table(engine, "one saved run, by group",
                  "Median error of the other runs of a group, without and with one of its runs saved.",
                  ["runs", "without", "with", "group"])
    # Groups whose median was off by more than 2 %, those that got better, those that cannot.
    off, better, silent, astride = 0, 0, 0, 0
    for key, runs in groups_of(planner, cases, engine).items():
        without, with_one, learnt = [], [], False
        for kept in runs:
            others = [r for r in runs if r is not kept]
            measured = saved_run(planner, kept)
            learnt = learnt or measured is not None
            answers = planner.ask([{**r.request, **({"calibration": [measured]} if measured else {})} for r in others])
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
        unified = is_unified(key[1])
        if before > 0.02:
            off += 1
            better += after < before
            silent += not learnt
            astride += between(runs, printed, answered)
        remark = (", worse" if after > before + noise else ", its logs print no term" if not learnt else
                  ", its runs on both sides of the plan" if before > 0.02 and between(runs, printed, answered) else
                  ", memory shared with the host" if unified else "")
        table.rows.append([str(len(runs)), f"{100 * before:.2f} %", f"{100 * after:.2f} %",
                           " ".join(str(part) for part in key) + remark])
    table.words += (f" {better} of the {off} groups that were off by more than 2 % got better"
                    + (f"; {silent} cannot learn from one run" if silent else "")
                    + (f"; in {astride} the plan lies between the two runs, and what moves it towards one moves it from the other" if astride else "") + ".")
    return [plain, saved, bars, table]


def suites(planner, cases):
    return {f"{engine} calibration": lambda engine=engine: calibration(planner, cases, engine) for engine in COMPARED}
