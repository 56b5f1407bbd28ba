#!/usr/bin/env python3
"""Compiles the catalogs into one C++ file: an index by name plus slices of JSON.

usage: embed_catalog.py --catalog DIR --out FILE.cpp [--slim] [--verbose]

Reads DIR/{gpus,models,weights,engines,instances,options,speeds,workloads}/**/*.json, one thing per file, and writes the
tables declared in src/catalog/embedded.h. Nothing is parsed at start-up: a lookup is a binary
search over names, and only the entry asked for is parsed. To keep the program (and the page, which
carries the same tables deflated) small, the text is minified and three things are coded; the reader
in src/catalog/catalog.cpp undoes them:

  {"$rle": [["sliding_attention", 5], ["full_attention", 1]], "$times": 8}
      a list by run lengths, the whole repeated $times times (absent: once). Catalog files may use
      this form themselves; lists of eight or more are coded wherever it is shorter.
  {"$s": 12}
      string 12 of one table; used for sources, dates and other texts that many entries share.
  {"$fact": [81090, "MiB", 12, 3, 7]}
      an object {value, unit, source, checked, confidence}; the last three are string numbers, null
      where absent. Any further member follows as key, value.

--slim leaves out what no answer shows (remarks, dates of checks) and options without effect on memory. Files must have an "id" that equals
the file name ("/" is written "__") and, where present, "aliases": a list of names, unique within
the kind without regard to case.
"""
import argparse
import json
import pathlib
import sys

KINDS = [("gpu", "gpus"), ("model", "models"), ("weights", "weights"), ("engine", "engines"),
         ("instance", "instances"), ("options", "options"), ("speed", "speeds"), ("workload", "workloads")]
CHUNK = 60_000  # bytes in one string literal: compilers need not take more than 65,536
BLOCK = 16  # names between two offsets, see embedded.h
FACT_KEYS = ("value", "unit", "source", "checked", "confidence")
# What --slim leaves out, by kind: nothing that an answer says, so that all doors say the same.
NOT_NEEDED = {
    "gpu": {"checked", "released", "notes", "memory_process_total_windows"},
    "model": {"remarks"},
    "instance": {"shape_source", "notes"},
}


class Broken(Exception):
    pass


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True)


def without_harmless(table):
    """An option table with only the options that move memory; src/engines/launch knows of it."""
    rows = [row for row in table.get("options", []) if "memory" in row or "like" in row]
    return {**table, "partial": True, "options": rows}


def run_lengths(items):
    runs = []
    for item in items:
        if runs and runs[-1][0] == item and type(runs[-1][0]) is type(item):
            runs[-1][1] += 1
        else:
            runs.append([item, 1])
    return runs


def code_list(items):
    """The shortest of: the list itself, its run lengths, the run lengths of one period."""
    if len(items) < 8:
        return items
    best, size = items, len(compact(items))
    texts = [compact(x) for x in items]
    for period in range(1, len(items) // 2 + 1):
        if len(items) % period == 0 and all(texts[i] == texts[i % period]
                                            for i in range(period, len(items))):
            coded = {"$rle": run_lengths(items[:period]), "$times": len(items) // period}
            if len(compact(coded)) < size:
                best, size = coded, len(compact(coded))
            break
    coded = {"$rle": run_lengths(items)}
    if len(compact(coded)) < size:
        best = coded
    return best


class Strings:
    """The table of shared strings. Numbers are given by falling use, so that common ones are short."""

    def __init__(self):
        self.uses = {}
        self.number = {}

    def count(self, text):
        self.uses[text] = self.uses.get(text, 0) + 1

    def close(self):
        order = sorted(self.uses, key=lambda t: (-self.uses[t], t))
        self.number = {t: i for i, t in enumerate(order)}

    def texts(self):
        return sorted(self.number, key=self.number.get)


def is_fact(value):
    return isinstance(value, dict) and "value" in value and "source" in value


def count_strings(value, strings):
    if isinstance(value, dict):
        for key, member in value.items():
            if isinstance(member, str) and key in ("source", "checked", "confidence"):
                strings.count(member)
            else:
                count_strings(member, strings)
    elif isinstance(value, list):
        for item in value:
            count_strings(item, strings)


def slim(value, left_out):
    if isinstance(value, dict):
        return {k: slim(v, left_out) for k, v in value.items() if k not in left_out}
    if isinstance(value, list):
        return [slim(x, left_out) for x in value]
    return value


def code(value, strings):
    if is_fact(value):
        head = [value["value"], value.get("unit")]
        head += [strings.number[value[k]] if k in value else None for k in FACT_KEYS[2:]]
        for key, member in value.items():
            if key not in FACT_KEYS:
                head += [key, code(member, strings)]
        while head and head[-1] is None:
            head.pop()
        return {"$fact": head}
    if isinstance(value, dict):
        out = {}
        for key, member in value.items():
            if isinstance(member, str) and key in ("source", "checked", "confidence"):
                out[key] = {"$s": strings.number[member]}
            else:
                out[key] = code(member, strings)
        return out
    if isinstance(value, list):
        return code_list([code(x, strings) for x in value])
    return value


def read_kind(folder):
    """Entries of one kind as (id, aliases, object), sorted by lower-cased id."""
    entries, seen = [], {}
    for path in sorted(folder.rglob("*.json")) if folder.is_dir() else []:
        try:
            entry = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as fault:
            raise Broken(f"{path}: {fault}") from None
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str) or not entry["id"]:
            raise Broken(f'{path}: wants an object with an "id"')
        if entry["id"].replace("/", "__") != path.stem:
            raise Broken(f'{path}: id "{entry["id"]}" is not the file name')
        aliases = entry.pop("aliases", [])
        if not isinstance(aliases, list) or not all(isinstance(a, str) and a for a in aliases):
            raise Broken(f'{path}: "aliases" wants a list of names')
        for name in [entry["id"], *aliases]:
            if not name.isascii() or len(name) > 255:
                raise Broken(f'{path}: the name "{name}" is not ASCII')
            if name.lower() in seen:
                raise Broken(f'{path}: the name "{name}" is also given by {seen[name.lower()]}')
            seen[name.lower()] = path
        entries.append((entry.pop("id"), aliases, entry))
    return sorted(entries, key=lambda e: e[0].lower())


class Chunks:
    """Text in pieces of at most CHUNK bytes; equal texts are stored once."""

    def __init__(self):
        self.pieces = [[]]
        self.size = 0
        self.known = {}

    def add(self, text):
        if text in self.known:
            return self.known[text]
        if len(text) > CHUNK:
            raise Broken(f"an entry of {len(text)} bytes is too large: {text[:80]}…")
        if self.size + len(text) > CHUNK:
            self.pieces.append([])
            self.size = 0
        place = (len(self.pieces) - 1, self.size, len(text))
        self.pieces[-1].append(text)
        self.size += len(text)
        self.known[text] = place
        return place


def literal(text):
    assert ')V"' not in text
    # Short lines, for people who look at the file and for compilers that count columns in 16 bits.
    return "\n".join(f'R"V({text[i:i + 2000]})V"' for i in range(0, len(text), 2000)) or '""'


def place(p):
    return "{" + ",".join(str(n) for n in p) + "}"


def array(kind, name, values, per_line=24):
    """An array; C++ has none without elements, so it ends with one that nobody counts."""
    lines = [",".join(values[i:i + per_line]) + "," for i in range(0, len(values), per_line)]
    return [f"constexpr {kind} {name}[] = {{", *lines, "{}};"]


def write(kinds, strings, out):
    chunks = Chunks()
    lines, tables = [], []
    # All JSON first, then names, so that either lies together: a search touches few pages.
    rows = {kind: [chunks.add(compact(code(obj, strings))) for _, _, obj in entries]
            for kind, entries in kinds}
    for kind, entries in kinds:
        names = sorted(((name, i) for i, (ident, aliases, _) in enumerate(entries)
                        for name in [ident, *aliases]), key=lambda n: n[0].lower())
        blocks = [chunks.add("".join(n for n, _ in names[i:i + BLOCK]))[:2]
                  for i in range(0, len(names), BLOCK)]
        at = {name: i for i, (name, _) in enumerate(names)}
        lines += array("Text", f"k_{kind}_json", [place(r) for r in rows[kind]], 6)
        lines += array("uint16_t", f"k_{kind}_ids", [str(at[ident]) for ident, _, _ in entries])
        lines += array("Place", f"k_{kind}_blocks", [place(b) for b in blocks], 8)
        lines += array("uint8_t", f"k_{kind}_lengths", [str(len(n)) for n, _ in names])
        lines += array("uint16_t", f"k_{kind}_entries", [str(i) for _, i in names])
        tables.append(f"{{k_{kind}_json, k_{kind}_ids, {len(entries)}, k_{kind}_blocks, "
                      f"k_{kind}_lengths, k_{kind}_entries, {len(names)}}},")
    texts = [chunks.add(t) for t in strings.texts()]
    lines += array("Text", "k_strings", [place(t) for t in texts], 6)
    pieces = [f"constexpr char kChunk{i}[] =\n{literal(''.join(piece))};"
              for i, piece in enumerate(chunks.pieces)]
    text = "\n".join([
        "// Made by tools/embed_catalog.py from catalog/. Do not edit.",
        '#include "catalog/embedded.h"', "", "namespace vramwise::catalog::embedded {",
        "namespace {", "", *pieces, *lines, "", "}  // namespace", "",
        "const char* const kChunks[] = {",
        *(f"kChunk{i}," for i in range(len(chunks.pieces))), "};",
        "const Table kTables[] = {", *tables, "};",
        "const Text* const kStrings = k_strings;", f"const uint32_t kStringCount = {len(texts)};",
        "", "}  // namespace vramwise::catalog::embedded", ""])
    target = pathlib.Path(out)
    # An unchanged file keeps its time, so that nothing is compiled again.
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return sum(len(t) for p in chunks.pieces for t in p)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catalog", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True)
    parser.add_argument("--slim", action="store_true", help="without what no answer shows")
    parser.add_argument("--verbose", action="store_true", help="print what was embedded")
    args = parser.parse_args()
    try:
        kinds = []
        strings = Strings()
        for kind, folder in KINDS:
            entries = read_kind(args.catalog / folder)
            if args.slim and kind == "options":
                # Defaults and effects of options, which only people read, stand in entries of their own.
                entries = [(i, a, without_harmless(o)) for i, a, o in entries
                           if not i.endswith(("/about", "/env"))]
            if args.slim:
                entries = [(i, a, slim(o, NOT_NEEDED.get(kind, set()))) for i, a, o in entries]
            for _, _, entry in entries:
                count_strings(entry, strings)
            kinds.append((kind, entries))
        strings.close()
        size = write(kinds, strings, args.out)
    except Broken as fault:
        print(f"embed_catalog: {fault}", file=sys.stderr)
        return 1
    if args.verbose:
        print(", ".join(f"{len(e)} {k}" for k, e in kinds), f"{size} bytes", sep="; ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
