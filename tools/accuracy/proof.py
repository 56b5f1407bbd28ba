"""Is the check worth its words? Faults put into logs, deaths in our own words, and repairs planned again."""
import copy
import os

from . import external_logs, rebuilt, repairs
from .cases import ROOT, lines
from .figures import Table, Verdicts
from .planner import refused, value
from .rebuilt import GIB, log_writer, named

FAILURES = os.path.join(ROOT, "tests", "data", "logs", "failures.jsonl")
SUITE = "proof"

# What is changed, by how much (GiB; a factor of the pool for the groups).
SEEDS = {"weights": 0.9, "activations": 1.7, "non_torch": 1.1, "graphs": 1.3, "groups": 0.8, "other_processes": 6.0,
         "log_arithmetic": 2.2}
SEEDED_RELEASES = ("0.11.0", "0.22.0")  # every term printed by one line; graphs estimated and charged


# --- seeded faults ----------------------------------------------------------------------------------------

def seed_requests(cases):
    for case in cases:
        if case.kind != "serving" or case.engine != "vllm":
            continue
        for version in SEEDED_RELEASES:
            request = copy.deepcopy(case.request)
            request["engine"]["version"] = version
            request["levers"] = False
            options = request["engine"].setdefault("options", {})
            for name in ("kv_cache_memory_bytes", "num_gpu_blocks_override", "enforce_eager"):
                options.pop(name, None)
            yield request


def planned_terms(plan, version):
    """The terms of a log that comes out exactly as planned."""
    def row(item):
        return sum(r["bytes"] for r in plan["ledger"] if r.get("device") == 0 and r["item"] == item) / GIB
    free = next(r["available"] for r in plan["requirements"] if r["what"] == "utilisation") / GIB
    terms = {"weights": plan["totals"]["weights_bytes"] / GIB, "activation": plan["totals"]["activations_bytes"] / GIB,
             "non_torch": row("kernels and libraries") + row("all-reduce buffers"), "total": plan["devices"][0]["total_bytes"] / GIB,
             "available": plan["kv"]["available_bytes"] / GIB, "free_at_start": free,
             "graphs": next(line["value"] for line in plan["log"] if line["line"].startswith("Graph capturing")) / GIB}
    if version == "0.22.0":
        terms["graphs_estimated"] = row("CUDA graphs (estimate)")
    return terms


def change(terms, component, size):
    """One term moved; what the others leave for the cache moves with it, as in the engine."""
    if component in ("weights", "activations", "non_torch", "graphs"):
        terms[{"activations": "activation", "graphs": "graphs_estimated"}.get(component, component)] += size
    if component != "other_processes" and component != "groups":
        terms["available"] -= size
    if component == "other_processes":
        terms["free_at_start"] -= size


def seeded_logs(planner, cases):
    """(component, request of `verify`) of every fault."""
    requests = list(seed_requests(cases))
    seeded = []
    usable = [(r, p) for r, p in zip(requests, planner.ask(requests))
              if p.get("starts") and p["kv"]["available_bytes"] > 5 * GIB and len({d["gpu"] for d in p["devices"]}) == 1
              and any(line["line"].startswith("Graph capturing") for line in p["log"])
              and any(r["what"] == "utilisation" for r in p["requirements"])]
    for number, (request, plan) in enumerate(usable):
        version = request["engine"]["version"]
        for component, size in SEEDS.items():
            if component == "graphs" and version == "0.11.0":
                continue
            terms = planned_terms(plan, version)
            change(terms, component, size * (1 + 0.1 * (number % 5)))
            if terms["available"] > 0.5:
                seeded.append((component, request, plan, terms))
    pools = planner.ask([{**r, "engine": {**r["engine"], "options": {
        **r["engine"]["options"], "kv_cache_memory_bytes": int(t["available"] * GIB)}}} for _, r, _, t in seeded])
    for (component, request, plan, terms), pool in zip(seeded, pools):
        decided = {name: plan["engine"]["options"][name] for name in ("gpu_memory_utilization", "max_model_len", "tensor_parallel_size")}
        terms["pool_tokens"] = int(pool["kv"]["pool_tokens"] * (SEEDS["groups"] if component == "groups" else 1))
        log = log_writer.vllm(request["engine"]["version"], terms, {**request["engine"]["options"], **decided},
                              request["model"].get("ref", "org/model"))
        yield component, {"ask": "verify", **request, "log": log.text}


def seeded_faults(planner, cases):
    found = Verdicts(SUITE, "seeded faults, named by the attribution")
    logs = list(seeded_logs(planner, cases))
    for (component, request), answer in zip(logs, planner.ask([request for _, request in logs])):
        attribution = value(answer, "verify", "attribution") or []
        blamed = attribution[0]["component"] if attribution else refused(answer) or "nothing"
        label = f"{request['model'].get('ref', '')} {request['engine']['version']}"
        found.add(named(label), component, blamed, blamed == component)
    return found


# --- how servers died -------------------------------------------------------------------------------------

def failures(planner, change=lambda text: text):
    """Phase, cause, shortfall and the knob's direction, of tracebacks and refusals in our own words.
    `change`: what became of the text on its way."""
    names = ("phase", "cause", "shortfall", "knob")
    found = {name: Verdicts(SUITE, f"post-mortem: {name}") for name in names}
    rows = [row for _, row in lines(FAILURES)]
    for row, answer in zip(rows, planner.ask([{"ask": "verify", "log": change(row["log"])} for row in rows])):
        failure, place = value(answer, "verify", "failure") or {}, named(row["name"])
        for name in ("phase", "cause"):
            found[name].add(place, row[name], str(failure.get(name)), failure.get(name) == row[name])
        if "shortfall_gib" in row:
            seen = failure.get("shortfall", 0) / GIB
            found["shortfall"].add(place, f"{row['shortfall_gib']} GiB", f"{seen:.3f} GiB",
                                   abs(seen - row["shortfall_gib"]) <= 0.006)
        if "knob" in row:
            turned = [(a["knob"], a["direction"]) for a in failure.get("advice", [])[:2]]
            found["knob"].add(place, f"{row['direction']} {row['knob']}", str(turned), (row["knob"], row["direction"]) in turned)
    return list(found.values())


def by_component(verdicts, words):
    """A table: how many of each kind, how many right."""
    counts = {}
    for _, happened, _, right in verdicts.rows:
        n, good = counts.get(happened, (0, 0))
        counts[happened] = (n + 1, good + (right is True))
    return Table(SUITE, verdicts.name + ", by term", words, ["logs", "named", "changed term"],
                 [[str(n), str(good), term] for term, (n, good) in counts.items()])


def suites(planner, cases, folder=None):
    printed = rebuilt.load() if folder is None else list(external_logs.load(folder))

    def proof():
        faults = seeded_faults(planner, cases)
        table = by_component(faults, "One term of a log that is otherwise exactly as planned is changed; the first component of "
                                     "the attribution has to be that term.")
        return [rebuilt.figure(planner, printed), faults, table, *failures(planner), *repairs.figures(planner, cases)]
    return {"proof": proof}
