"""One figure over many cases: relative errors, groups, worst rows."""
import statistics
from dataclasses import dataclass, field

from .cases import Case

EXACT = 1e-9


@dataclass
class Row:
    case: Case
    predicted: float | None
    measured: float
    slack: float = 0.0
    why: str = ""  # why there is no prediction
    part: str = ""  # the buffer or device meant, where a case has several

    @property
    def error(self):
        """What rounding of the printed figure does not explain, relative to it."""
        if self.predicted is None:
            return None
        return max(0.0, abs(self.predicted - self.measured) - self.slack) / abs(self.measured)

    @property
    def exact(self):
        return self.error is not None and self.error < EXACT


@dataclass
class Summary:
    n: int
    answered: int
    exact: int
    median: float | None
    p90: float | None
    worst: float | None

    def share(self):
        return self.exact / self.n if self.n else 0.0


def summary(rows):
    errors = sorted(r.error for r in rows if r.error is not None)
    if not errors:
        return Summary(len(rows), 0, 0, None, None, None)
    return Summary(len(rows), len(errors), sum(e < EXACT for e in errors), statistics.median(errors),
                   errors[min(len(errors) - 1, int(0.9 * len(errors)))], errors[-1])


class Figure:
    """`unit`: "bytes" or "" (a count). `groups`: which groupings are worth a table."""

    def __init__(self, suite, name, unit="bytes", groups=("version", "family", "card")):
        self.suite, self.name, self.unit, self.groups, self.rows = suite, name, unit, groups, []

    def add(self, case, predicted, measured, slack=None, why="", part=""):
        """`measured` is a cases.Quantity; its rounding is the slack unless one is given."""
        if measured is None or not measured.value:
            return
        self.rows.append(Row(case, predicted, measured.value, measured.slack if slack is None else slack, why, part))

    def determined(self):
        """The rows without a named cause."""
        return [r for r in self.rows if not r.case.cause(self.name)]

    def worst(self, count=10):
        rows = [r for r in self.rows if r.error is not None and not r.exact]
        return sorted(rows, key=lambda r: -r.error)[:count]

    def unanswered(self):
        return [r for r in self.rows if r.error is None]


@dataclass
class Bars:
    """Do the stated low and high hold the measured figure, and how far apart are they?"""

    suite: str
    name: str
    unit: str = "bytes"
    rows: list = field(default_factory=list)  # (case, low, likely, high, measured, slack)

    def add(self, case, low, likely, high, measured):
        if None not in (low, likely, high) and measured is not None and measured.value > 0:
            self.rows.append((case, low, likely, high, measured.value, measured.slack))

    def holds(self, row):
        return row[1] - row[5] <= row[4] <= row[3] + row[5]

    def figures(self, rows=None):
        rows = self.rows if rows is None else rows
        if not rows:
            return None
        return {"n": len(rows), "hold": sum(map(self.holds, rows)) / len(rows),
                "median_width": statistics.median((r[3] - r[1]) / r[4] for r in rows),
                "median_error": statistics.median(abs(r[2] - r[4]) / r[4] for r in rows)}


@dataclass
class Table:
    """A figure that is a table already: what was counted, by kind."""

    suite: str
    name: str
    words: str  # what the page says before it
    head: list
    rows: list = field(default_factory=list)  # lists of cells; all but the last are short


@dataclass
class Verdicts:
    """Yes-or-no questions: what happened, what was answered."""

    suite: str
    name: str
    rows: list = field(default_factory=list)  # (case, happened, answered, right: True | False | None = tight)

    def add(self, case, happened, answered, right):
        self.rows.append((case, happened, answered, right))

    def figures(self):
        n = len(self.rows)
        right = sum(r[3] is True for r in self.rows)
        tight = sum(r[3] is None for r in self.rows)
        return {"n": n, "right": right, "tight": tight, "wrong": n - right - tight,
                "confident_wrong_fits": sum(r[1] == "failed" and r[2] == "fits" for r in self.rows)}
