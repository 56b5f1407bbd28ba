"""Loads: the formulas beside the simulation, and the step-time model beside measured speeds.

The traces are those of tests/measured/traces, the speeds those of tests/measured/decode_speed.tsv; both are public (their README says
where from). "Measured" is the simulation where a formula is scored, and the published figure where the step time is.
"""
import csv
import os
import random

from .cases import ROOT, Case, Quantity
from .figures import Figure
from .planner import refused, value

TRACES = ("azure_conversation", "azure_code", "mooncake_conversation", "mooncake_synthetic")
# Illustrative seconds of a Llama-3.1-8B on one H100: what is scored is the formula, not these.
STEP = {"fixed": 7.5e-3, "per_context_token": 52e-9, "per_prefill_token": 32e-6, "per_decode": 1e-5}
DISTRIBUTIONS = {
    "lognormal chat": {"kind": "lognormal", "prompt": {"p50": 1020, "p95": 4083}, "output": {"p50": 129, "p95": 451}},
    "uniform bench": {"kind": "uniform", "prompt": [800, 1200], "output": [4000, 6000]},
    "reasoning": {"kind": "lognormal", "prompt": {"p50": 400, "p95": 3000}, "output": {"p50": 1500, "p95": 16000}, "max_output": 32768},
}


def pairs(trace):
    """Lengths of a trace, shuffled: the formulas know no order."""
    with open(os.path.join(ROOT, "tests", "measured", "traces", trace + ".csv")) as f:
        rows = [[int(r["prompt_tokens"]), int(r["output_tokens"])] for r in csv.DictReader(f)]
    random.Random(7).shuffle(rows)
    return {"kind": "samples", "pairs": rows}


def loads():
    return {**DISTRIBUTIONS, **{name: pairs(name) for name in TRACES}}


def case(name, request, source=""):
    return Case(kind="workload", engine="", version=None, request={"hardware": {}, **request}, measured={}, source=source, label=name)


def question(lengths, arrivals, blocks, sequences, **more):
    return {"ask": "simulate", "workload": {"lengths": lengths, "arrivals": arrivals}, "step_time": STEP,
            "scheduler": {"blocks": blocks, "max_sequences": sequences, "batch_tokens": max(8192, sequences)}, **more}


def closed(planner):
    """Section "closed loop": users, tokens held and throughput."""
    held = [Figure("workload", f"tokens held in a closed loop at p{p}, formula beside simulation", "", ()) for p in (95, 99)]
    rate = Figure("workload", "throughput of a closed loop, formula beside simulation", "", ())
    for name, lengths in loads().items():
        for users in (8, 64, 256):
            ask = question(lengths, {"kind": "closed", "users": users}, 4_000_000, users, count=max(20000, 60 * users))
            answer = planner.ask([ask])[0]
            c = case(f"{name}, {users} users", {})
            got = value(answer, "simulate") or {}
            for figure, p in zip(held, (95, 99)):
                figure.add(c, value(got, "formulas", f"tokens_p{p}"), quantity(value(got, "occupancy", f"tokens_p{p}")), why=refused(answer) or "")
            rate.add(c, value(got, "formulas", "requests_per_second"), quantity(value(got, "throughput", "requests_per_second")), why=refused(answer) or "")
    return [*held, rate]


def quantity(number):
    return Quantity(number, 0.0) if number else None


def opened(planner):
    """Open arrivals at three loads: a screening, so its error is large and said to be."""
    figures = [Figure("workload", f"tokens held under open arrivals at p{p}, screening formula beside simulation", "", ())
               for p in (50, 95, 99)]
    for name, lengths in loads().items():
        if name.startswith("uniform"):
            continue
        probe = planner.ask([question(lengths, {"kind": "poisson", "rate_per_second": 0.05}, 4_000_000, 4096, count=100)])[0]
        full = value(probe, "simulate", "load", "saturation_rate_per_second")
        if not full:
            continue
        for load in (0.4, 0.7, 0.85):
            answer = planner.ask([question(lengths, {"kind": "poisson", "rate_per_second": load * full}, 400_000, 4096, count=20000)])[0]
            got = value(answer, "simulate") or {}
            c = case(f"{name}, load {load}", {})
            for figure, p in zip(figures, (50, 95, 99)):
                figure.add(c, value(got, "formulas", f"tokens_p{p}"), quantity(value(got, "occupancy", f"tokens_p{p}")), why=refused(answer) or "")
    return figures


def speeds():
    with open(os.path.join(ROOT, "tests", "measured", "decode_speed.tsv")) as f:
        return list(csv.DictReader((line for line in f if not line.startswith("#")), delimiter="\t"))


def step_time(planner):
    """Answer tokens a second of the measured batch, simulated as a closed loop of equal requests."""
    groups = {}
    for row in speeds():
        batch, cards = int(row["batch"]), int(row["cards"])
        prompt, output = int(row["prompt"] or 256), int(row["output"] or 128)
        options = {row["tp_option"]: cards} if row["tp_option"] else {}
        request = {"ask": "simulate", "model": {"ref": row["model"]}, "hardware": {"gpu": row["gpu"], "count": cards},
                   "engine": {"name": row["engine"], "options": options},
                   "workload": {"sequence_tokens": prompt + output, "concurrency": batch,
                                "lengths": {"kind": "fixed", "prompt": prompt, "output": output},
                                "arrivals": {"kind": "closed", "users": batch}}, "count": max(100, 20 * batch)}
        if row["weights"]:
            request["weights"] = row["weights"]
        answer = planner.ask([request])[0]
        name = f"{row['engine']}, {row['memory']}" + (", batch > 1" if batch > 1 else "")
        figure = groups.setdefault(name, Figure("workload", f"time between tokens: {name}", "", ()))
        seconds = value(answer, "simulate", "inter_token_seconds", "p50")
        c = case(f"{row['model']} {row['weights']} on {cards} x {row['gpu']}, batch {batch}", {}, row["source"])
        figure.add(c, seconds and seconds * 1000, Quantity(1000 * batch / float(row["tokens_per_second"]), 0.0),
                   why=refused(answer) or "")
    return list(groups.values())


def suites(planner):
    return {"workload closed loop": lambda: closed(planner), "workload open arrivals": lambda: opened(planner),
            "workload step time": lambda: step_time(planner)}
