"""A log as it is written: its lines, and what has to be read back from them."""
import json
import re
import textwrap

GIB, MIB = 2**30, 2**20


def version_tuple(text):
    numbers = re.findall(r"\d+", text or "")
    return tuple(int(n) for n in (numbers + ["0", "0", "0"])[:3])


def printed_gib(number, digits=2):
    """The value that a print with so many decimals stands for, in bytes."""
    return float(f"{number:.{digits}f}") * GIB


def printed_mib(number):
    return float(f"{number:.2f}") * MIB


class Log:
    def __init__(self):
        self.lines, self.expect = [], []

    def add(self, line, **fields):
        """A line, and what has to be read from it: field=value (bytes or counts)."""
        self.lines.append(line)
        self.expect += list(fields.items())

    def device(self, line, device, **fields):
        self.lines.append(line)
        self.expect += [((name, device), value) for name, value in fields.items()]

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"


def _each(prefix):
    return lambda text: "".join(prefix + line + "\n" for line in text.splitlines())


def _json(*separators):
    return lambda text: "".join(json.dumps({"log": line + "\n", "stream": "stderr", "time": "2025-01-01T00:00:00Z"},
                                           separators=separators) + "\n" for line in text.splitlines())


def folded(text, width=100, quote="> "):
    """As a mail client copies it: long lines broken at blanks, quoted."""
    return "".join(part + "\n" for line in text.splitlines()
                   for part in textwrap.wrap(line, width, initial_indent=quote, subsequent_indent=quote, break_long_words=False,
                                             break_on_hyphens=False))


def cut(text, width):
    """As a terminal of that width shows it: long lines broken at the last column."""
    return "".join(line[at:at + width] + "\n" for line in text.splitlines() for at in range(0, max(1, len(line)), width))


# What containers, loggers and copying make of a log.
WRAPPINGS = {
    "docker compose": _each("server-1  | "),
    "Docker Desktop": _each("2026-05-01 21:58:31.243 | "),
    "journald": _each("Aug 18 14:14:59 host python3[28148]: "),
    "SageMaker": _each("2023-12-11T17:25:22.531+02:00 | [WARN ] PyProcess - W-1511-model-stderr: "),
    "Kubernetes": _json(",", ":"),
    "JSON of another writer": _json(", ", ": "),
    "colours": _each("\x1b[0;36m[router]\x1b[0m "),
    "colours without their ESC": _each("[1;36m(EngineCore_0 pid=9)[0;0m "),
    "a progress bar": _each("Loading shards:  75%|###  | 3/4\r"),
    "Windows line ends": lambda text: text.replace("\n", "\r\n"),
    "quoted": _each("> "),
}


def read_back(log, answer):
    """Fields that were not read, or read wrongly, as (field, written, read)."""
    seen = {}
    for reading in answer["verify"]["logged"]:
        seen.setdefault(reading["field"], []).append(reading)
    failure = answer["verify"].get("failure", {})
    wrong = []
    for name, value in log.expect:
        field, device = name if isinstance(name, tuple) else (name, None)
        if field.startswith("failure_"):
            values = [failure[field[8:]]] if field[8:] in failure else []
        else:
            rows = [r for r in seen.get(field, []) if device is None or r.get("device") == device]
            values = [r[k] for r in rows for k in ("value", "smallest", "largest") if k in r]
        if isinstance(value, str):
            agrees = value in values
        else:
            agrees = any(abs(float(v) - value) <= max(1, abs(value) * 1e-9) for v in values)
        if not agrees:
            wrong.append((name, value, values))
    return wrong
