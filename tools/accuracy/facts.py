"""Parameter counts, cache layouts and launch lines: published or derived tables."""
import os

from .cases import Case, Quantity, lines
from .figures import Figure, Verdicts
from .planner import refused, value


def table(path):
    """Rows of a tab-separated file with # comments and a head line."""
    head, rows = None, []
    with open(path) as f:
        for line in f:
            if line.startswith("#") or not line.strip():
                continue
            cells = line.rstrip("\n").split("\t")
            if head is None:
                head = cells
            else:
                rows.append(dict(zip(head, cells)))
    return rows


def model_case(row, measured):
    model = {"ref": row["model_id"]}
    return Case("facts", "", None, {"ask": "inspect", "model": model}, measured, model=row["model_id"],
                label=row["model_id"], gpu="")


def parameters(planner, path):
    figure = Figure("facts", "parameters", "", groups=("family",))
    cases = []
    for row in table(path):
        cases.append(model_case(row, {"with_buffers": int(row["module_params"]),
                                      "buffers": int(row.get("of_which_buffers") or 0)}))
    for case, answer in zip(cases, planner.ask([c.request for c in cases])):
        predicted, m = value(answer, "model", "parameters"), case.measured
        want = m["with_buffers"] - m["buffers"]
        if predicted == m["with_buffers"]:  # buffers counted: the same modules
            want = predicted
        figure.add(case, predicted, Quantity(want), why=refused(answer))
    return [figure]


def caches(planner, path):
    per_token = Figure("facts", "cache bytes per token", "", groups=("family",))
    whole = Figure("facts", "cache of one sequence at 8k, 32k, 128k", "", groups=("family",))
    rows = [r for r in table(path) if r["bytes_per_token_bf16"]]
    cases = [model_case(r, r) for r in rows]
    for case, answer in zip(cases, planner.ask([c.request for c in cases])):
        row, cache, why = case.measured, value(answer, "model", "cache"), refused(answer)
        per_token.add(case, value(cache, "bytes_per_token"), Quantity(int(row["bytes_per_token_bf16"])), why=why)
        for name, tokens in (("bytes_8k", "8192"), ("bytes_32k", "32768"), ("bytes_128k", "131072")):
            if row.get(name):
                whole.add(case, value(cache, "bytes_at", tokens), Quantity(int(row[name])), why=why, part=tokens)
    return [per_token, whole]


def launch_lines(planner, path):
    """What is read out of a pasted launch line, field by field."""
    whole = Verdicts("launch lines", "whole line")
    fields = Verdicts("launch lines", "single fields")
    rows = [row for _, row in lines(path)]
    asked = [{"ask": "launch", "line": r["line"]} for r in rows]
    for row, answer in zip(rows, planner.ask(asked)):
        got = value(answer, "launch") or {}
        wrong = [k for k, v in row["expect"].items() if got.get(k) != v]
        case = Case("launch", row.get("engine") or "", None, {}, {}, label=f'{row["id"]} {row.get("engine") or ""}')
        for name in row["expect"]:
            fields.add(case, "read", name, name not in wrong)
        whole.add(case, "read", ", ".join(wrong) or refused(answer) or "all", not wrong)
    return [whole, fields]


def suites(planner, cases_folder, facts_folder):
    found = {}
    for folder, name, title, function in (
            (facts_folder, "param_counts.tsv", "params", parameters), (facts_folder, "caches.tsv", "caches", caches),
            (cases_folder, "launch_lines.jsonl", "launch lines", launch_lines)):
        path = os.path.join(folder, name) if folder else ""
        if path and os.path.exists(path):
            found[title] = lambda function=function, path=path: function(planner, path)
    return found
