"""Logs written anew from what runs printed, in the wording of their release, and read back."""
import os
import sys

from .cases import ROOT, Case, lines, quantity
from .figures import Verdicts

sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import log_writer  # noqa: E402
from log_lines import GIB, MIB  # noqa: E402

PRINTED = os.path.join(ROOT, "tests", "data", "logs", "printed.jsonl")


def load(path=PRINTED):
    return [{**row, "place": f"{os.path.basename(path)}:{number}"} for number, row in lines(path)]


def write(row):
    return log_writer.write(row["engine"], row.get("version"), row["terms"], row.get("options"), row.get("model", "org/model"))


def read_back(planner, rows, change=None):
    """(row, fields written, what was not read back) of every row whose log has something to read.
    `change`: what became of the text on its way, one of log_lines.WRAPPINGS."""
    logs = [(row, log) for row in rows for log in [write(row)] if log.expect]
    answers = planner.ask([{"ask": "verify", "log": change(log.text) if change else log.text} for _, log in logs])
    for (row, log), answer in zip(logs, answers):
        wrong = [answer["error"]["message"]] if "error" in answer else log_writer.read_back(log, answer)
        yield row, len(log.expect), wrong


GIB_TERMS = {"weights": "weights", "cache_memory": "available", "cache_left": "available",
             "activation": "activation", "outside_torch": "non_torch",
             "graphs": "graphs", "graphs_estimated": "graphs_estimated", "needed_cache": "needed", "peak": "peak",
             "after_loading": "after_loading", "before_loading": "before_loading", "consumed": "consumed", "total": "total",
             "budget": "budget", "free_at_start": "free_at_start", "tried": "tried", "free": "free"}
COUNT_TERMS = {"pool_tokens": "pool_tokens", "blocks": "blocks", "estimated_length": "estimated_len", "state_slots": "state_slots",
               "state_blocks": "state_blocks"}


def terms_of(case):
    """What a measured case printed, in the terms of log_writer."""
    measured = case.measured
    terms = {term: case.printed(name).value / GIB for name, term in GIB_TERMS.items() if measured.get(name) is not None}
    terms.update({term: int(measured[name]) for name, term in COUNT_TERMS.items() if measured.get(name) is not None})
    if measured.get("max_concurrency") is not None:
        terms["concurrency"] = case.printed("max_concurrency").value
    if isinstance(measured.get("pool_memory"), list):
        parts = [quantity(part).value / GIB for part in measured["pool_memory"]]
        terms.update({"k": parts[0], "v": parts[1]} if len(parts) == 2 else {"kv": parts[0]})
    if measured.get("started") is False:
        terms["oom"] = True
    if "failed" in measured:  # an allocation of llama.cpp: device, bytes
        terms["failed"] = measured["failed"]
    for name, size in (("model", "model"), ("compute", "compute")):
        if isinstance(measured.get(name), dict):
            terms[size] = {device: quantity(printed).value / MIB for device, printed in measured[name].items()}
    return terms


def row_of(case):
    """A measured case as a row of printed.jsonl, of the release that is planned."""
    options = {k: v for k, v in case.request["engine"].get("options", {}).items() if isinstance(v, (int, float, str))}
    version = case.request["engine"].get("version") or case.version
    return {"engine": case.engine, "version": version, "terms": terms_of(case), "options": options,
            "model": case.request["model"].get("ref", "org/model"), "place": case.place}


def named(label):
    """A case that is a name only, for rows of verdicts."""
    return Case("proof", "", None, {}, {}, label=label)


def figure(planner, rows):
    found = Verdicts("proof", "fields of rebuilt logs that are read back")
    for row, fields, wrong in read_back(planner, rows):
        label = f"{row['engine']} {row.get('version') or ''} {row['place']}"
        missed = {str(name) for name, *_ in wrong if not isinstance(wrong[0], str)} if wrong else set()
        for number in range(fields):
            found.add(named(label), "written", "read" if number >= len(wrong) else f"not read: {', '.join(sorted(missed))}",
                      number >= len(wrong))
    return found
