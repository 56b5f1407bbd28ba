"""What may not get worse: rows that are exact, and how far a group may be off.

A row of tests/measured/*.jsonl names under "exact" the figures that have to stay exact. How far the
rest may be off is in tests/measured/bounds.json. `./dev accuracy --tighten` takes better results in;
it never loosens the bounds of a group of cases, which is known by its number of rows.
"""
import json
import math
import os

from .cases import MEASURED
from .figures import Bars, Figure, Table, Verdicts, summary

FILE = os.path.join(MEASURED, "bounds.json")


def load():
    if not os.path.exists(FILE):
        return {}
    with open(FILE) as f:
        return json.load(f)["bounds"]


def round_up(error):
    """To two figures, with a tenth of air: equal code gives equal integers, so air is for honest
    changes of a rule that help most cases and cost a little here."""
    if error <= 0:
        return 0.0
    error *= 1.1
    step = 10.0 ** (math.floor(math.log10(error)) - 1)
    return float(f"{math.ceil(error / step) * step:.6g}")


def key(result):
    return f"{result.suite}: {result.name}"


def measured_bounds(result):
    """name -> value of one result, as a bound; larger is worse for every name."""
    if isinstance(result, Figure):
        s = summary(result.rows)
        found = {"unanswered": s.n - s.answered}
        if s.answered:
            found.update(median=round_up(s.median), p90=round_up(s.p90), worst=round_up(s.worst))
        return found
    f = result.figures()
    if isinstance(result, Bars):
        return {"outside": sum(not result.holds(r) for r in result.rows), "median_width": round_up(f["median_width"])}
    found = {"wrong": f["wrong"], "not_decided": f["tight"] + f["wrong"]}
    if result.name == "will it start":
        found["confident_wrong_fits"] = f["confident_wrong_fits"]
    return found


def current(result):
    """As measured_bounds, without the rounding."""
    if isinstance(result, Figure):
        s = summary(result.rows)
        found = {"unanswered": s.n - s.answered}
        if s.answered:
            found.update(median=s.median, p90=s.p90, worst=s.worst)
        return found
    found = measured_bounds(result)
    if isinstance(result, Bars):
        found["median_width"] = result.figures()["median_width"]
    return found


def pinned(result):
    """Whether single rows of this figure may be held to exactness: what follows from a launch line alone
    rests on modelled terms, and a row of it is exact by luck. Its group is bounded like the others."""
    return "launch line" not in key(result)


def broken(results):
    """Sentences: rows that are not exact any more, bounds that are exceeded."""
    found, bounds = [], load()
    for result in results:
        if isinstance(result, Table):  # of other figures, which have bounds
            continue
        if isinstance(result, Figure) and pinned(result):
            for row in result.rows:
                if key(result) in row.case.exact and not row.exact:
                    part = f" {row.part}" if row.part else ""
                    found.append(f"{row.case.place} {row.case.label}{part}: {key(result)} was exact, is "
                                 f"{row.predicted} for {row.measured} {row.why or ''}".rstrip())
        if not result.rows:
            continue
        now = current(result)
        for name, bound in bounds.get(key(result), {}).items():
            if name != "rows" and now.get(name, math.inf) > bound:
                found.append(f"{key(result)}: {name} is {now.get(name)}, may be {bound}")
    return found


def tighten(results):
    """Takes exact rows and smaller errors into the files; says what it did."""
    said, bounds, exact = [], load(), {}
    for result in results:
        if not result.rows:
            continue
        old = bounds.setdefault(key(result), {})
        if old.get("rows") != len(result.rows):  # other cases: another group
            old.clear()
            old["rows"] = len(result.rows)
        for name, bound in measured_bounds(result).items():
            if name not in old or bound < old[name]:
                old[name] = bound
                said.append(f"{key(result)}: {name} {bound}")
        if isinstance(result, Figure) and pinned(result):
            rows = {}
            for row in result.rows:
                rows.setdefault(row.case.place, []).append(row.exact)
            for place, parts in rows.items():
                if all(parts):
                    exact.setdefault(place, set()).add(key(result))
    with open(FILE, "w") as f:
        json.dump({"comment": "How far each group may be off; ./dev accuracy --tighten makes bounds smaller, nothing "
                              "makes them larger.", "bounds": dict(sorted(bounds.items()))}, f, indent=1)
        f.write("\n")
    for name in sorted({place.split(":")[0] for place in exact}):
        write_exact(os.path.join(MEASURED, name), name, exact)
    return said + [f"{sum(map(len, exact.values()))} exact figures of {len(exact)} rows"]


def write_exact(path, name, exact):
    out = []
    with open(path) as f:
        for number, line in enumerate(f, 1):
            if line.strip() and not line.startswith("#"):
                row = json.loads(line)
                named = sorted(set(row.pop("exact", [])) | exact.get(f"{name}:{number}", set()))
                if named:
                    row["exact"] = named
                line = json.dumps(row, ensure_ascii=False) + "\n"
            out.append(line)
    with open(path, "w") as f:
        f.writelines(out)
