"""Figures as text, as JSON and as docs/accuracy.md."""
import datetime
import textwrap

from .figures import Bars, Figure, Table, Verdicts, summary
from .groups import RANGES, card, family, version_range

WIDTH = 100


def percent(share):
    if share is None:
        return "–"
    if share == 0:
        return "0"
    return f"{share:.2%}" if share < 0.1 else f"{share:.1%}" if share < 10 else f"{share:.0%}"


def amount(number, unit):
    if number is None:
        return "–"
    if unit != "bytes":
        return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"
    for name, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(number) >= size:
            return f"{number / size:,.2f} {name}"
    return f"{number:,.0f} B"


class Groups:
    """The groupings of cases; what kind of model it is has to be asked."""

    def __init__(self, planner):
        self.planner, self.known = planner, {}

    def family(self, case):
        model = case.request.get("model") or {}
        key = repr(sorted(model.items()))
        if key not in self.known:
            self.known[key] = family(self.planner.shapes([model])[0])
        return self.known[key]

    def prepare(self, cases):
        """One batch for all models instead of a process for each."""
        models = {}
        for case in cases:
            model = case.request.get("model")
            if model:
                models[repr(sorted(model.items()))] = model
        for key, shape in zip(models, self.planner.shapes(list(models.values()))):
            self.known[key] = family(shape)

    def of(self, grouping, case):
        return {"version": version_range, "family": self.family, "card": card,
                "mixture": lambda c: str(c.request.get("weights", "")),
                "backend": lambda c: c.request["hardware"].get("backend", "")}[grouping](case)

    def split(self, figure, rows=None):
        """grouping -> group -> rows; groupings with one group are left out."""
        found = {}
        for grouping in figure.groups:
            groups = {}
            for row in figure.rows if rows is None else rows:
                groups.setdefault(self.of(grouping, row.case), []).append(row)
            if len(groups) > 1:
                order = [name for ranges in RANGES.values() for _, name in ranges]
                found[grouping] = dict(sorted(groups.items(), key=lambda g: (
                    order.index(g[0]) if g[0] in order else len(order), g[0])))
        return found


# --- text -------------------------------------------------------------------------------------------------

def summary_cells(rows):
    s = summary(rows)
    return [s.n, s.answered, percent(s.share()), percent(s.median), percent(s.p90), percent(s.worst)]


def figure_text(figure, groups, show):
    yield f"{figure.suite}: {figure.name}"
    listing = [("all", figure.rows)]
    determined = figure.determined()
    if len(determined) != len(figure.rows):
        listing.append(("without a named cause", determined))
    for grouping, split in groups.split(figure).items():
        listing += [(f"{grouping}: {name}", rows) for name, rows in split.items()]
    yield f"  {'':34}{'n':>6}{'answered':>10}{'exact':>9}{'median':>9}{'p90':>9}{'worst':>10}"
    for name, rows in listing:
        n, answered, exact, median, p90, worst = summary_cells(rows)
        yield f"  {name:34}{n:>6}{answered:>10}{exact:>9}{median:>9}{p90:>9}{worst:>10}"
    for row in figure.worst(show):
        yield f"    {row_text(figure, row)}"
        cause = row.case.cause(figure.name) or row.case.comment
        if cause:
            yield textwrap.fill(cause[:400], WIDTH - 2, initial_indent="      ", subsequent_indent="      ")
    refusals = figure.unanswered()
    for row in refusals[:show]:
        yield f"    no answer: {row.case.label} {row.part}: {(row.why or 'the answer lacks it')[:120]}"


def row_text(figure, row):
    sign = (row.predicted - row.measured) / abs(row.measured)
    part = f" {row.part}" if row.part else ""
    return (f"{row.case.label}{part}: predicted {amount(row.predicted, figure.unit)}, "
            f"measured {amount(row.measured, figure.unit)} ({sign:+.2%})")


def bars_text(bars, groups):
    f = bars.figures()
    if not f:
        return
    yield f"{bars.suite}: error bars of the {bars.name}"
    yield (f"  n {f['n']}, hold {percent(f['hold'])}, median width {percent(f['median_width'])}, "
           f"median error {percent(f['median_error'])}")
    for row in bars.rows:
        if not bars.holds(row):
            case, low, likely, high, seen, _ = row
            yield (f"    outside: {case.label}: {' … '.join(amount(v, bars.unit) for v in (low, likely, high))}, "
                   f"measured {amount(seen, bars.unit)}")


def verdicts_text(verdicts, show):
    f = verdicts.figures()
    if not f["n"]:
        return
    yield f"{verdicts.suite}: {verdicts.name}"
    table = {}
    for _, happened, answered, right in verdicts.rows:
        if len(answered) < 24:
            table[f"{happened} -> {answered}"] = table.get(f"{happened} -> {answered}", 0) + 1
    line = f"  n {f['n']}, right {percent(f['right'] / f['n'])}"
    if f["tight"]:
        line += f", right or tight {percent((f['right'] + f['tight']) / f['n'])}"
    if verdicts.name == "will it start":
        line += f", confident wrong fits {f['confident_wrong_fits']}"
        line += "; " + ", ".join(f"{k}: {v}" for k, v in sorted(table.items()))
    yield line
    wrong = [r for r in verdicts.rows if r[3] is not True]
    for case, happened, answered, right in wrong[:show]:
        cause = case.cause(verdicts.name)
        yield f"    {'tight' if right is None else 'wrong'}: {case.label}: {happened}, answered {answered[:60]}"
        if cause:
            yield textwrap.fill(cause, WIDTH - 2, initial_indent="      ", subsequent_indent="      ")


def table_text(table):
    yield f"{table.suite}: {table.name}"
    yield textwrap.fill(table.words, WIDTH - 2, initial_indent="  ", subsequent_indent="  ")
    yield "  " + "".join(f"{h:>10}" for h in table.head[:-1]) + "  " + table.head[-1]
    for row in table.rows:
        yield "  " + "".join(f"{c:>10}" for c in row[:-1]) + "  " + row[-1]


def text(results, groups, show):
    out = []
    for result in results:
        if isinstance(result, Figure):
            if result.rows:
                out += figure_text(result, groups, show)
        elif isinstance(result, Bars):
            out += bars_text(result, groups)
        elif isinstance(result, Table):
            out += table_text(result)
        else:
            out += verdicts_text(result, show)
    return "\n".join(out)


# --- JSON -------------------------------------------------------------------------------------------------

def as_json(results, groups, show):
    out = []
    for result in results:
        item = {"suite": result.suite, "figure": result.name}
        if isinstance(result, Figure):
            item.update(vars(summary(result.rows)))
            item["without_named_cause"] = vars(summary(result.determined()))
            item["groups"] = {grouping: {name: vars(summary(rows)) for name, rows in split.items()}
                              for grouping, split in groups.split(result).items()}
            item["worst_rows"] = [
                {"case": r.case.label, "place": r.case.place, "part": r.part, "predicted": r.predicted,
                 "measured": r.measured, "error": r.error, "cause": r.case.cause(result.name)}
                for r in result.worst(show)]
            item["no_answer"] = [{"case": r.case.label, "why": r.why} for r in result.unanswered()]
        elif isinstance(result, Table):
            item["rows"] = [dict(zip(result.head, row)) for row in result.rows]
        else:
            item.update(result.figures() or {"n": 0})
            if isinstance(result, Verdicts):
                item["not_right"] = [{"case": c.label, "happened": h, "answered": a, "tight": r is None}
                                     for c, h, a, r in result.rows if r is not True][:show]
        out.append(item)
    return out


# --- Markdown ---------------------------------------------------------------------------------------------

HEAD = "| | n | answered | exact | median error | p90 | worst |\n|---|---:|---:|---:|---:|---:|---:|"


def markdown_row(name, rows):
    return f"| {name} | " + " | ".join(str(c) for c in summary_cells(rows)) + " |"


def bullet(words):
    return textwrap.fill(words, WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False)


def figure_markdown(figure, groups, show):
    yield f"### {figure.name[0].upper() + figure.name[1:]}\n"
    yield HEAD
    yield markdown_row("all", figure.rows)
    determined = figure.determined()
    if len(determined) != len(figure.rows):
        yield markdown_row("without a named cause", determined)
    for _, split in groups.split(figure).items():
        for name, rows in split.items():
            yield markdown_row(name, rows)
    worst = figure.worst(show)
    if worst:
        yield "\nFarthest off:\n"
        for row in worst:
            cause = row.case.cause(figure.name)
            yield bullet(row_text(figure, row) + (". " + cause[0].upper() + cause[1:] + "." if cause else "."))
    refusals = figure.unanswered()
    if refusals:
        yield f"\nNot answered: {len(refusals)}.\n"
        for row in refusals[:show]:
            yield bullet(f"{row.case.label}: {row.why or 'the answer lacks it'}.")
    yield ""


def bars_markdown(bars):
    f = bars.figures()
    if not f:
        return
    yield f"### Error bars of the {bars.name}\n"
    yield textwrap.fill(
        f"Of {f['n']} measured values {percent(f['hold'])} lie between the stated low and high. Median width "
        f"of the range {percent(f['median_width'])} of the value, median error {percent(f['median_error'])}.", WIDTH)
    yield ""


def verdicts_markdown(verdicts, show):
    f = verdicts.figures()
    if not f["n"]:
        return
    yield f"### {verdicts.name[0].upper() + verdicts.name[1:]}\n"
    words = f"{f['right']} of {f['n']} right"
    if f["tight"]:
        words += f", {f['tight']} answered `tight`"
    words += f", {f['wrong']} wrong"
    if verdicts.name == "will it start":
        words += f" ({f['confident_wrong_fits']} of them a confident `fits`)"
    yield words + ".\n"
    for case, happened, answered, right in [r for r in verdicts.rows if r[3] is not True][:show]:
        cause = case.cause(verdicts.name)
        yield bullet(f"{case.label}: {happened}, answered `{answered[:60]}`" + (f". {cause}." if cause else "."))
    yield ""


def table_markdown(table):
    yield f"### {table.name[0].upper() + table.name[1:]}\n"
    yield textwrap.fill(table.words, WIDTH) + "\n"
    yield "| " + " | ".join(table.head) + " |"
    yield "|" + "---:|" * (len(table.head) - 1) + "---|"
    for row in table.rows:
        yield "| " + " | ".join(str(c) for c in row) + " |"
    yield ""


SUITES = {"facts": "Models", "launch lines": "Launch lines", "vllm": "vLLM", "sglang": "SGLang",
          "trtllm": "TensorRT-LLM",
          "proof": "Verify: logs, faults, deaths and repairs", "llama.cpp dry run": "llama.cpp, its own dry runs",
          "llama.cpp logs": "llama.cpp, logs of real runs", "GGUF files": "Published GGUF files",
          "workload": "Loads: formulas beside simulation, step times beside published speeds"}


def markdown(results, groups, show, command, today=None):
    """The page. Rows are cases of real servers; the error is what rounding does not explain."""
    out = ["# Accuracy", ""]
    out.append(textwrap.fill(
        f"Written by `{command}` on {today or datetime.date.today().isoformat()}; do not edit. The cases are those of "
        "tests/measured, each with its public source. An error is the difference between the estimate and the "
        "printed figure, less what the rounding of the print can hide, relative to the printed figure; `exact` "
        "means that nothing is left. p90: nine of ten are better.", WIDTH))
    out.append("")
    done = set()
    for suite, title in SUITES.items():
        chosen = [r for r in results if r.suite == suite and r.rows]
        if not chosen:
            continue
        out += [f"## {title}", ""]
        for result in chosen:
            done.add(id(result))
            if isinstance(result, Figure):
                out += figure_markdown(result, groups, show)
            elif isinstance(result, Bars):
                out += bars_markdown(result)
            elif isinstance(result, Table):
                out += table_markdown(result)
            else:
                out += verdicts_markdown(result, show)
    return "\n".join(out).rstrip() + "\n"
