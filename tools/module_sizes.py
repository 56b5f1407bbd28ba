#!/usr/bin/env python3
"""What the WebAssembly module is made of: `./dev wasm --sizes`, or module_sizes.py MODULE.wasm [TOP].

Sections of the module as they are and as .xz, then, from the linker's map beside it (MODULE.map), functions by part of the
core and the TOP largest of them (20), and read-only data by symbol. The map is of the moment before wasm-opt, which takes
a sixth off the code: read it for shares.
"""

import collections
import lzma
import pathlib
import re
import sys

SECTIONS = ("custom type import function table memory global export start element code data count").split()
LINE = re.compile(r"\s*\S+\s+\S+\s+([0-9a-f]+) ( *)(.*)")
CATALOG = "vramwise::catalog::embedded::"


def number(data: bytes, at: int) -> tuple[int, int]:
    """A LEB128 and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def sections(module: bytes):
    at = 8
    while at < len(module):
        size, start = number(module, at + 1)
        yield SECTIONS[module[at]], module[start:start + size]
        at = start + size


def symbols(text: str):
    """(section, bytes, name) of each symbol: the innermost lines of the map."""
    section = ""
    for line in text.splitlines():
        if (match := LINE.match(line)) is None:
            continue
        size, indent, name = int(match[1], 16), len(match[2]), match[3]
        if indent == 0:
            section = name
        elif indent >= 16:
            yield section, size, name
        elif name.startswith("<internal>:(.rodata"):  # strings that the linker has merged carry no name
            yield section, size, "texts"


def part(name: str) -> str:
    """engines/vllm, model, libc++ …: who answers for a function."""
    if "nlohmann" in name:
        return "JSON library"
    if re.match(r"[\w: *&]*\bstd::", name) and not name.startswith("vramwise"):
        return "libc++, instances of it"
    if (match := re.search(r"vramwise::(engines::\w+|\w+)::", name)) is None:
        return "base" if "vramwise" in name else "libc, libc++"
    folder = match[1].replace("::", "/")
    if folder[0].isupper():
        return "base"
    return "engines" if re.match(r"engines/[A-Z(_]", folder) else folder


def table(title: str, sizes: collections.Counter, top: int) -> None:
    total = sum(sizes.values())
    print(f"\n{title}: {total:,} bytes")
    for name, size in sizes.most_common(top):
        print(f"{size:9,} {100 * size / total:5.1f} %  {name[:90]}")


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    path, top = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) == 3 else 20
    module, link_map = path.read_bytes(), path.with_suffix(".map")
    print(f"{'section':10}{'bytes':>11}{'as .xz':>10}")
    for name, data in [("all", module), *sections(module)]:
        print(f"{name:10}{len(data):11,}{len(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)):10,}")
    if not link_map.exists():
        print(f"{link_map} is missing: ./dev wasm writes it", file=sys.stderr)
        return 1
    parts, functions, data = (collections.Counter() for _ in range(3))
    for section, size, name in symbols(link_map.read_text(encoding="utf-8")):
        if section == "CODE":
            parts[part(name)] += size
            functions[name] += size
        elif section in ("DATA", ".rodata", ".data"):
            data["the catalog" if name.startswith(CATALOG) else name] += size
    table("code by part", parts, 40)
    table("the largest functions", functions, top)
    table("read-only data", data, top)
    return 0


if __name__ == "__main__":
    sys.exit(main())
