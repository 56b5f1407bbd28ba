"""What would have started: each proposal of a post-mortem, planned again through the front door.

A failed start is planned as its log shows it (`as_it_was` of the answer is a merge patch of the
request), and must die there too; then with the `set` of each proposal on top, and must fit.
"""
import copy

from . import deaths, external, rebuilt
from .figures import Table, Verdicts
from .planner import refused, value

SUITE = "proof"
MOST = 4  # proposals of a start that are tried, beside the first of each kind


def patched(target, patch):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(target) if isinstance(target, dict) else {}
    for key, change in patch.items():
        if change is None:
            merged.pop(key, None)
        else:
            merged[key] = patched(merged.get(key), change)
    return merged


def chosen(changes):
    """The first proposals, and the first of every kind: (proposal, is it the one to try first?)."""
    kinds = set()
    for number, change in enumerate(changes):
        if number < MOST or change["kind"] not in kinds:
            yield change, number == 0
        kinds.add(change["kind"])


class Tried:
    """Starts that failed, sorted by what became of them."""

    def __init__(self, what):
        self.what = what
        self.first = Verdicts(SUITE, f"{what}: the first proposal, planned again")
        self.all = Verdicts(SUITE, f"{what}: every kind of proposal, planned again")
        self.kinds, self.without = {}, []  # of the first proposals; (reason, case)

    def add(self, planner, case, request, log):
        answer = planner.ask([{"ask": "verify", **request, "log": log}])[0]
        failure = value(answer, "verify", "failure")
        if not failure:
            self.without.append((refused(answer) or "its figures name no death", case))
            return
        if "changes" not in failure:
            self.without.append(("it cannot be planned: " + ", ".join(value(answer, "verify", "lacking") or ["?"]), case))
            return
        if not failure["changes"]:
            self.without.append((failure.get("no_changes_because", "no reason given"), case))
            return
        asked = {k: v for k, v in answer["verify"]["request"].items() if k not in ("ask", "log", "line", "id")}
        was = patched({**asked, "levers": False}, failure["as_it_was"])
        tried = list(chosen(failure["changes"]))
        died, *answers = planner.ask([was, *(patched(was, change["set"]) for change, _ in tried)])
        if died.get("starts") is not False:
            self.first.add(case, "failed", "as it was, it starts", False)
            return
        for (change, first), again in zip(tried, answers):
            outcome = value(again, "outcome") or refused(again)
            what = f'{change["kind"]}: {change["change"]}'
            self.all.add(case, what, outcome, outcome == "fits")
            if first:
                self.first.add(case, what, outcome, outcome == "fits")
                self.kinds[change["kind"]] = self.kinds.get(change["kind"], 0) + 1

    def figures(self):
        reasons = {}
        for reason, case in self.without:
            reasons.setdefault(reason, []).append(case.label.split(" ")[0])
        kinds = ", ".join(f"{n} of {kind}" for kind, n in sorted(self.kinds.items(), key=lambda k: -k[1]))
        table = Table(SUITE, f"{self.what} without a proposal",
                      f"The first proposals are {kinds or 'none'}. The other failed starts, and why nothing is proposed.",
                      ["starts", "which, and why"],
                      [[str(len(labels)), f"{' '.join(labels)}: {reason}"] for reason, labels in sorted(reasons.items())])
        return [self.first, self.all, table]


def log_of(planner, case):
    """The log of a case, with the options that its plan decides."""
    plan = planner.ask([{**case.request, "levers": False}])[0]
    row = rebuilt.row_of(case)
    effective = value(plan, "engine", "options") or {}
    row["options"] = {**{k: effective[k] for k in ("max_model_len", "gpu_memory_utilization", "max_num_seqs")
                         if k in effective}, **row["options"]}
    return rebuilt.write(row)


def trials(planner, cases):
    """Published failures of the cases, and starts of every engine that cannot come up."""
    tried = Tried("failed starts")
    for case in cases:
        if case.measured.get("started") is not False:
            continue
        hardware = case.request["hardware"]
        stand_in = hardware.get("total_bytes") == 2**40 or ("total_bytes" not in hardware and "devices" not in hardware)
        if case.gpu and stand_in and not external.card_id(case.gpu):
            tried.without.append(("its card is not named", case))
            continue
        log = log_of(planner, case)
        if log.expect:
            tried.add(planner, case, case.request, log.text)
        else:
            tried.without.append(("nothing but the outcome is published", case))
    written = Tried("starts of every engine that cannot come up")
    for request, log in deaths.deaths(planner):
        engine = request["engine"]
        written.add(planner, rebuilt.named(f'{engine["name"]} {request["model"]["ref"]} {request["hardware"]["gpu"]}'), request, log.text)
    return tried, written


def figures(planner, cases):
    return [figure for tried in trials(planner, cases) for figure in tried.figures()]
