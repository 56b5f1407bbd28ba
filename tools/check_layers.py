#!/usr/bin/env python3
"""Holds the #include lines to the layers, and src/ to its promises.

  base <- json <- formats <- model <- weights <- engines <- plan <- workload <- verify <- report <- api <- host, apps
          json <- catalog <- model and everything right of it

1. A file includes only from its own folder and from the folders ALLOWED names.
2. src/ does not print, exit, throw, or read files, clock or environment (FORBIDDEN): that is what lets
   the same core run in a page and under a fuzzer.
3. No code asks which architecture or engine it has before it, outside of that one's own file.

What cannot be mended yet stands in DEBT with its reason; an entry that is no longer needed is an error.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ORDER = "base json formats model weights engines plan workload verify report api".split()

# Folder -> folders it may include, beside itself. Left to right in ORDER; the catalog from model on.
ALLOWED: dict[str, set[str]] = {"src/catalog": {"src/base", "src/json"}}
for place, part in enumerate(ORDER):
    ALLOWED[f"src/{part}"] = {f"src/{left}" for left in ORDER[:place]}
    if place >= ORDER.index("model"):
        ALLOWED[f"src/{part}"].add("src/catalog")
CORE = set(ALLOWED)
ALLOWED["src/api"].add("include")  # the C ABI is declared there
ALLOWED["include"] = set()
ALLOWED["host"] = CORE | {"include"}
ALLOWED["apps/cli"] = CORE | {"host", "include"}
ALLOWED["apps/wasm"] = {"src/api", "src/base", "include"}

# System headers that belong to one place only.
ONLY_IN = [
    (re.compile(r"nlohmann/"), ("src/json/",), "the JSON library is used in src/json only"),
    (re.compile(r"CLI/"), ("apps/cli/",), "CLI11 is used in apps/cli only"),
    (re.compile(r"(iostream|fstream|thread|mutex|filesystem|cstdio|locale|random|regex)$"),
     ("host/", "apps/"), "not in the core"),
]

FORBIDDEN = re.compile(
    r"std::c(out|err|log)\b|(?<![\w:])f?printf\s*\(|\bstd::printf\s*\(|\bgetenv\s*\(|std::chrono::(system|steady)_clock"
    r"|\bstd::j?thread\b|\bfopen\s*\(|\bi?o?fstream\b|(?<![\w.])throw\b|\b(?:std::)?abort\s*\(|(?<![\w.>])(?:std::|_)?exit\s*\("
    r"|\bdynamic_cast\b|\btypeid\b"
)

# (path glob, what is found there) -> why it is tolerated.
DEBT: dict[tuple[str, str], str] = {}

# Launch lines and logs name programs, so their readers and writers tell engines apart by name; the
# look-up of an engine knows its spellings.
READS_NAMES = ("src/engines/launch/", "src/engines/engine.cpp", "src/verify/")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def sources() -> list[Path]:
    found = []
    for top in ("src", "include", "host", "apps"):
        found += [p for p in (ROOT / top).rglob("*") if p.suffix in (".h", ".cpp")]
    return sorted(found)


def folder_of(path: str) -> str | None:
    """The key of ALLOWED that a file belongs to."""
    for key in ALLOWED:
        if path.startswith(key + "/"):
            return key
    return None


def target_of(include: str) -> str | None:
    """The key of ALLOWED that an #include "…" names, as seen from the include roots."""
    for root in ("src/", "", "include/"):
        if (ROOT / root / include).is_file():
            return folder_of(root + include)
    first = include.split("/")[0]
    return f"src/{first}" if f"src/{first}" in ALLOWED else None


def without_comments(text: str) -> list[str]:
    """Lines with comments blanked; good enough for code that clang-format has seen."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    lines = []
    for line in text.split("\n"):
        cut = re.match(r'((?:[^"/]|"(?:[^"\\]|\\.)*"|/(?!/))*)//', line)
        lines.append(cut[1] if cut else line)
    return lines


def own_ids() -> dict[str, str]:
    """Id -> folder or file where it may be compared: engines by folder, architectures by file."""
    ids = {}
    for file in (ROOT / "src/model/archs").glob("*.cpp"):
        if not file.stem.endswith("_test") and not file.stem.startswith("_"):
            ids[file.stem] = "src/model/archs/"
    for engine in (ROOT / "src/engines").glob("*/engine.cpp"):
        ids[engine.parent.name] = f"src/engines/{engine.parent.name}/"
    if "llamacpp" in ids:
        ids["llama.cpp"] = ids["llamacpp"]
    return ids


def check() -> list[str]:
    problems: list[str] = []
    used_debt: set[tuple[str, str]] = set()

    def report(path: str, line: int, found: str, text: str) -> None:
        for (glob, what), _ in DEBT.items():
            if Path(path).match(glob) and what == found:
                used_debt.add((glob, what))
                return
        problems.append(f"{path}:{line}: {text}")

    ids = own_ids()
    names = "|".join(re.escape(i) for i in sorted(ids, key=len, reverse=True))
    compared = re.compile(rf'[=!]=\s*"({names})"|"({names})"(?:sv)?\s*[=!]=') if ids else None

    for file in sources():
        path = file.relative_to(ROOT).as_posix()
        folder = folder_of(path)
        test = path.endswith("_test.cpp")
        if folder is None:
            report(path, 1, "place", "lies in no known folder (see ALLOWED in tools/check_layers.py)")
            continue
        for number, line in enumerate(without_comments(file.read_text()), 1):
            if match := INCLUDE.match(line):
                quoted, name = match[1] == '"', match[2]
                if test:
                    continue
                target = target_of(name)
                if target and target != folder and target not in ALLOWED[folder]:
                    report(path, number, name, f'{folder} may not include "{name}"')
                elif quoted and target is None:
                    report(path, number, name, f'"{name}" is not a file of this project: use <…>, or the path from src/')
                for pattern, places, why in ONLY_IN:
                    if not quoted and pattern.match(name) and not path.startswith(places):
                        if pattern.pattern.startswith("(") and not path.startswith("src/"):
                            continue
                        report(path, number, name, f"<{name}>: {why}")
                continue
            if not path.startswith("src/") or test:
                continue
            if match := FORBIDDEN.search(LITERAL.sub('""', line)):
                report(path, number, match[0].strip(), f"the core may not use {match[0].strip()!r}")
            if compared and (match := compared.search(line)):
                name = match[1] or match[2]
                if not path.startswith((ids[name], *READS_NAMES)):
                    report(path, number, name, f'asks for "{name}" by name: that belongs into {ids[name]}')
    for key, why in DEBT.items():
        if key not in used_debt:
            problems.append(f"tools/check_layers.py: the debt {key} ({why}) is paid: remove it")
    return problems


if __name__ == "__main__":
    found = check()
    print("\n".join(found) or "layers: in order")
    sys.exit(1 if found else 0)
