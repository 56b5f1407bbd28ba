"""Loads: the formulas beside the simulation, and the step-time model beside measured speeds.

The traces are those of tests/measured/traces, the speeds those of tests/measured/decode_speed.tsv; both are public (their README says
where from). "Measured" is the simulation where a formula is scored, and the published figure where the step time is.
"""
import csv
import math
import os
import random
import statistics

from .cases import ROOT, Case, Quantity
from .figures import Bars, Figure, Table
from .planner import refused, value
from .step_fit import Row, fit, left_out, unpacked_slowly

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
    """Users, tokens held and throughput of a closed loop. In unit steps, where a prompt takes one step whatever its length, what the
    formula assumes holds, and its own error is seen; with prompts that compete for the step, fewer run at once than there are users."""
    held = {(kind, p): Figure("workload", f"tokens held in a closed loop{words} at p{p}, formula beside simulation", "", ())
            for kind, words in (("unit", ""), ("real", ", prompts competing for the step,")) for p in (95, 99)}
    rate = Figure("workload", "throughput of a closed loop, formula beside simulation", "", ())
    for name, lengths in loads().items():
        for users in (8, 64, 256):
            ask = question(lengths, {"kind": "closed", "users": users}, 4_000_000, users, count=max(30000, 60 * users))
            unit = {**ask, "step_time": {"fixed": 1}, "scheduler": {**ask["scheduler"], "batch_tokens": 1 << 31}}
            c = case(f"{name}, {users} users", {})
            for kind, answer in zip(("unit", "real"), planner.ask([unit, ask])):
                got = value(answer, "simulate") or {}
                for p in (95, 99):
                    held[kind, p].add(c, value(got, "formulas", f"tokens_p{p}"), quantity(value(got, "occupancy", f"tokens_p{p}")),
                                      why=refused(answer) or "")
                if kind == "real":
                    rate.add(c, value(got, "formulas", "requests_per_second"), quantity(value(got, "throughput", "requests_per_second")),
                             why=refused(answer) or "")
    return [*held.values(), rate]


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


def table(name):
    with open(os.path.join(ROOT, "tests", "measured", name)) as f:
        return list(csv.DictReader((line for line in f if not line.startswith("#")), delimiter="\t"))


def speed_request(row):
    batch, cards = int(row["batch"]), int(row["cards"])
    prompt, output = int(row["prompt"] or 256), int(row["output"] or 128)
    options = {row["tp_option"]: cards} if row["tp_option"] else {}
    # No engine of the planner's: what a step reads is the same in any that keeps 16-bit caches.
    engine = "vllm" if row["engine"] == "mlx" else row["engine"]
    if engine == "vllm":
        # The size of the pool is no part of a step: room for the batch is enough, whatever the runs had.
        options |= {"gpu_memory_utilization": 0.9, "max_num_seqs": max(8, batch)}
    request = {"ask": "simulate", "model": {"ref": row["model"]}, "hardware": {"gpu": row["gpu"], "count": cards},
               "engine": {"name": engine, "options": options},
               "workload": {"sequence_tokens": prompt + output, "concurrency": batch,
                            "lengths": {"kind": "fixed", "prompt": prompt, "output": output},
                            "arrivals": {"kind": "closed", "users": batch}}, "count": max(100, 20 * batch)}
    if row["weights"].startswith("mlx-"):
        request["model"]["quantization_config"] = {"group_size": 64, "bits": int(row["weights"][4:])}
    elif row["weights"]:
        request["weights"] = row["weights"]
    return request


def speed_class(row):
    return f"{row['engine']}, {row['memory']}" + (", batch > 1" if int(row["batch"]) > 1 else "")


def answered_class(row):
    """The class for answers with the catalog's parameters. Its exchange between cards without peer access is fitted to the rows of several
    cards, so that these are no test of it; it knows no power limit, and it describes the builds of today."""
    if row["tp_option"]:
        return speed_class(row) + ", several cards, in sample"
    if unpacked_slowly(row):
        return speed_class(row) + ", k-quants on Apple in 2024"
    return speed_class(row) + (", held below rated power" if row["held_to_w"] else "")


def speed_case(row):
    return case(f"{row['model']} {row['weights']} on {row['cards']} x {row['gpu']}, batch {row['batch']}", {}, row["source"])


def step_time(planner):
    """Time between tokens of the measured batch, simulated as a closed loop of equal requests, with the catalog's parameters."""
    groups = {}
    rows = [r for r in table("decode_speed.tsv") if r["engine"] != "mlx"]
    for row, answer in zip(rows, planner.ask([speed_request(r) for r in rows])):
        group = answered_class(row)
        figure = groups.setdefault(group, Figure("workload", f"time between tokens: {group}", "", ()))
        seconds = value(answer, "simulate", "inter_token_seconds", "p50")
        figure.add(speed_case(row), seconds and seconds * 1000, Quantity(1000 * int(row["batch"]) / float(row["tokens_per_second"]), 0.0),
                   why=refused(answer) or "")
    return list(groups.values())


def step_fit_rows(planner):
    specs = table("decode_speed.tsv")
    answers = planner.ask([speed_request(r) for r in specs])
    shapes = planner.ask([{"ask": "inspect", "model": {"ref": r["model"]}} for r in specs])
    rows = []
    for spec, answer, shape in zip(specs, answers, shapes):
        step = value(answer, "simulate", "step_time")
        if step and step.get("parts"):
            rows.append((spec, Row(spec, step, value(shape, "inspect", "hidden_size"))))
    return rows


def median_interval(values, sure=0.9):
    """The order statistics that hold the median of what the values are drawn from, that surely; the extremes of few values hold it less."""
    ordered, n = sorted(values), len(values)
    below, k = 0.0, 0
    while k < n // 2 and below + math.comb(n, k) / 2 ** n <= (1 - sure) / 2:
        below += math.comb(n, k) / 2 ** n
        k += 1
    k = max(k, 1)
    return ordered[k - 1], ordered[n - k]


def spelled(name, number):
    if name.startswith("layer") or name.endswith("latency"):
        return f"{number * 1e6:.0f} us"
    return f"{number / 1e9:.2f} GB/s" if name.endswith("bus") else f"{number:.2f}"


def step_fit(planner):
    """The same speeds, each predicted by parameters fitted without it: rows, cards, models, and whole classes left out."""
    both = step_fit_rows(planner)
    spec_of = {id(row): spec for spec, row in both}
    rows = [row for _, row in both]
    figures = []
    for what, group in (("row and its repeats", lambda r: r.key), ("card", lambda r: r.gpu), ("model", lambda r: r.model),
                        ("engine on its memory", lambda r: (r.engine, r.memory))):
        figure = Figure("workload", f"step time, fitted without the {what}", "", ())
        classes = {}
        for row, seconds in left_out(rows, group):
            spec = spec_of[id(row)]
            measured = Quantity(1000 * row.seconds, 0.0)
            figure.add(speed_case(spec), 1000 * seconds, measured)
            if what.startswith("row"):
                one = classes.setdefault(speed_class(spec), Figure("workload", f"step time, fitted without the row: {speed_class(spec)}", "", ()))
                one.add(speed_case(spec), 1000 * seconds, measured)
        figures += [figure, *classes.values()]
    sure = Table("workload", "How sure the medians of the step time are",
                 "A class of nine rows has one median, and another nine rows of the same kind another: where it lies, nine times of ten.",
                 ["rows", "median", "from", "to", "fitted without"])
    for figure in figures:
        errors = [row.error for row in figure.rows if row.error is not None]
        low, high = median_interval(errors)
        sure.rows.append([len(errors), *(f"{100 * e:.1f} %" for e in (statistics.median(errors), low, high)),
                          figure.name.removeprefix("step time, fitted without ")])
    used = Table("workload", "Parameters of the step time, fitted to all rows",
                 "What `./dev accuracy` fits to tests/measured/decode_speed.tsv and `--fit-steps` writes into catalog/speeds/step-time.json.",
                 ["parameter", "rows", "fitted"])
    for name, number in fit(rows).items():
        count = sum(name in r.parameters() for r in rows)
        if count:
            used.rows.append([name, count, spelled(name, number)])
    return [*figures, sure, used]


def calibration(planner):
    """Load curves of one server each: two of their points are given, the others predicted."""
    curves = {}
    for row in table("load_curves.tsv"):
        curves.setdefault(row["run"], {})[int(row["users"])] = row
    ranges = (("2 to 4 users", 2, 4), ("16 to 32 users", 16, 32), ("64 to 128 users", 64, 128))
    rates = {name: Figure("workload", f"throughput from two points of a server's own, {name}", "", ()) for name, *_ in ranges}
    gaps = {name: Figure("workload", f"time between tokens from two points of a server's own, {name}", "", ()) for name, *_ in ranges}
    asks, meant = [], []
    for run, points in curves.items():
        one, eight = points[1], points[8]
        measured = {"inter_token_seconds": float(one["itl_p50_ms"]) / 1000, "ttft_seconds": float(one["ttft_p50_ms"]) / 1000,
                    "users": 8, "output_tokens_per_second": float(eight["tokens_per_second"]), "prompt": int(one["prompt"]), "output": int(one["output"])}
        for users, row in points.items():
            name = next((n for n, low, high in ranges if low <= users <= high), None)
            if name is None:
                continue
            asks.append({"ask": "simulate", "count": 200 * users, "scheduler": {"blocks": 1_000_000, "max_sequences": 256, "batch_tokens": 2048},
                         "step_time": {"measured": measured},
                         "workload": {"lengths": {"kind": "fixed", "prompt": measured["prompt"], "output": measured["output"]},
                                      "arrivals": {"kind": "closed", "users": users}}})
            meant.append((name, case(f"{row['model']}, {row['layout']}, {users} users", {}, run), row))
    bars = Bars("workload", "throughput from two points, the calibrated bar up to 32 users", "")
    for answer, (name, c, row) in zip(planner.ask(asks), meant):
        got = value(answer, "simulate") or {}
        rate = value(got, "throughput", "output_tokens_per_second")
        gap = value(got, "inter_token_seconds", "p50")
        rates[name].add(c, rate, Quantity(float(row["tokens_per_second"]), 0.0), why=refused(answer) or "")
        gaps[name].add(c, gap and gap * 1000, Quantity(float(row["itl_p50_ms"]), 0.0), why=refused(answer) or "")
        step = value(got, "step_time") or {}
        if rate and not name.startswith("64"):
            bars.add(c, rate / step["high_factor"], rate, rate / step["low_factor"], Quantity(float(row["tokens_per_second"]), 0.0))
    return [*rates.values(), *gaps.values(), bars]


def suites(planner):
    return {"workload closed loop": lambda: closed(planner), "workload open arrivals": lambda: opened(planner),
            "workload step time": lambda: step_time(planner), "workload step fit": lambda: step_fit(planner),
            "workload calibration": lambda: calibration(planner)}
