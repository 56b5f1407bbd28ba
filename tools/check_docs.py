#!/usr/bin/env python3
"""Every relative link in a Markdown file leads to a file, and its #anchor to a heading of it."""

import re
import sys
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
SKIP = {"build", "node_modules", ".cache", ".git"}
LINK = re.compile(r"!?\[[^\]\n]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
FENCED = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.M | re.S)
INLINE = re.compile(r"`[^`\n]*`")


def blank(match: re.Match) -> str:
    return "\n" * match[0].count("\n")


def anchors(text: str) -> set[str]:
    """Ids as GitHub makes them from headings, and explicit ones."""
    found = set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    seen: dict[str, int] = {}
    for heading in re.findall(r"^#{1,6}\s+(.*?)\s*#*$", FENCED.sub(blank, text), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        found.add(slug if count == 0 else f"{slug}-{count}")
    return found


def main() -> int:
    problems = []
    files = [p for p in sorted(ROOT.rglob("*.md")) if not SKIP & set(p.relative_to(ROOT).parts)]
    for file in files:
        text = file.read_text()
        plain = INLINE.sub("", FENCED.sub(blank, text))
        for match in LINK.finditer(plain):
            link = match[1]
            if re.match(r"[a-z][a-z0-9+.-]*:", link):
                continue
            path, _, anchor = unquote(link).partition("#")
            target = (file.parent / path).resolve() if path else file
            where = f"{file.relative_to(ROOT)}:{plain.count(chr(10), 0, match.start()) + 1}"
            if not target.exists():
                problems.append(f"{where}: {link} does not exist")
            elif not target.is_relative_to(ROOT):
                problems.append(f"{where}: {link} leaves the project")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
                problems.append(f"{where}: {link}: no such heading")
    print("\n".join(problems) or f"docs: {len(files)} files, all links lead somewhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
