"""The project's own schema of a measured case; tests/measured/README.md describes it."""
import json
import os
import re
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MEASURED = os.path.join(ROOT, "tests", "measured")

UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "KB": 10**3, "MB": 10**6, "GB": 10**9}


@dataclass(frozen=True)
class Quantity:
    """A printed figure: its value in bytes (or as a plain number) and what its rounding can hide."""

    value: float
    slack: float = 0.0


def quantity(printed):
    """`1809952` is exact; "50.28 GiB" and "2.21" hide what lies beyond their last digit; a list is
    a sum of printed parts."""
    if printed is None or isinstance(printed, bool):
        return None
    if isinstance(printed, list):
        parts = [quantity(p) for p in printed]
        return Quantity(sum(p.value for p in parts), sum(p.slack for p in parts))
    if isinstance(printed, (int, float)):
        return Quantity(printed)
    match = re.fullmatch(r"(-?\d+(?:\.(\d+))?)(?: (\w+))?", printed)
    if not match:
        raise ValueError(f"not a printed figure: {printed!r}")
    unit = UNITS[match.group(3)] if match.group(3) else 1
    # 0.6 of the last digit: engines round, cut, or convert twice.
    return Quantity(float(match.group(1)) * unit, 0.6 * 10 ** -len(match.group(2) or "") * unit)


@dataclass
class Case:
    """One run of a real server, and the request that describes its start."""

    kind: str  # serving | dry_run | llamacpp_log | file_size
    engine: str
    version: str | None
    request: dict
    measured: dict
    source: str = ""
    date: str = ""
    model: str = ""  # as the source calls it
    gpu: str = ""  # as the source calls it
    comment: str = ""
    label: str = ""
    figures: frozenset | None = None  # the figures it says something about; None: all it has values for
    causes: dict = field(default_factory=dict)  # figure, or "*": why it is off
    exact: tuple = ()  # figures that were exact and have to stay so
    other_code: bool = False  # of no release: shares its code with no other run
    place: str = ""  # file:line

    def serves(self, figure):
        return self.figures is None or figure in self.figures

    def cause(self, figure):
        return self.causes.get(figure) or self.causes.get("*") or ""

    def printed(self, name):
        return quantity(self.measured.get(name))

    @property
    def dated(self):
        """Is the release that of the run's day, because the source names none?"""
        return self.version is None or "taken from the date" in self.comment


class Causes:
    """Named causes of misses, keyed by source and model (tests/measured/causes.json)."""

    def __init__(self, path=os.path.join(MEASURED, "causes.json")):
        self.entries = []
        if os.path.exists(path):
            with open(path) as f:
                self.entries = json.load(f)["causes"]

    def about(self, case):
        for entry in self.entries:
            # "owner/repository path" and "owner/repository:path" are one source.
            same = entry["source"].replace(" ", ":") == case.source.replace(" ", ":") and entry["model"] == case.model
            same = same and all(case.measured.get(k) == v for k, v in entry.get("measured", {}).items())
            if same and all(str(getattr(case, k)) == entry[k] for k in ("version", "gpu", "date", "label") if k in entry):
                yield entry

    def of(self, case):
        """Figure -> why it is off."""
        return {figure: entry["cause"] for entry in self.about(case) for figure in entry.get("figures", ["*"])}

    def other_code(self, case):
        """Was it a build between releases, whose rules are of none?"""
        return any(entry.get("other_code") for entry in self.about(case))

    def excludes(self, case):
        """Are the printed figures those of another start than the one named?"""
        return any(entry.get("mislabelled") for entry in self.about(case))


def lines(path):
    """(line number, object) of a JSON Lines file; # starts a comment line."""
    with open(path) as f:
        for number, line in enumerate(f, 1):
            if line.strip() and not line.startswith("#"):
                yield number, json.loads(line)


def load_measured(folder=MEASURED):
    """Every case of the project's own measured set."""
    cases, causes = [], Causes(os.path.join(folder, "causes.json"))
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".jsonl"):
            continue
        for number, row in lines(os.path.join(folder, name)):
            request = row["request"]
            case = Case(
                kind=row["kind"], engine=row["engine"], version=row.get("version"), request=request,
                measured=row["measured"], source=row["source"], date=row.get("date", ""),
                model=row.get("model") or request["model"].get("ref", ""), gpu=row.get("gpu", ""),
                comment=row.get("comment", ""), exact=tuple(row.get("exact", ())),
                figures=frozenset(row["figures"]) if "figures" in row else None,
                place=f"{name}:{number}")
            hardware = request.get("hardware", {})
            count = hardware.get("count", 1)
            card = case.gpu or hardware.get("gpu", "")
            case.label = " ".join(x for x in (case.model, f"{count}x {card}" if count > 1 else card,
                                              case.version or "") if x)
            case.causes, case.other_code = causes.of(case), causes.other_code(case)
            if not causes.excludes(case):
                cases.append(case)
    return cases
