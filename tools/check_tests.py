#!/usr/bin/env python3
"""Names that Python silently lets a later definition take: a test under such a name never runs."""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def taken_names(body: list[ast.stmt], where: str) -> list[str]:
    problems, seen = [], {}
    for node in body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            continue
        if node.name in seen and not node.decorator_list:
            problems.append(f"{where}:{node.lineno}: '{node.name}' hides the one of line {seen[node.name]}")
        seen[node.name] = node.lineno
        if isinstance(node, ast.ClassDef):
            problems += taken_names(node.body, where)
    return problems


def main() -> int:
    problems = []
    for folder in ("tests", "tools"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            problems += taken_names(ast.parse(file.read_text()).body, str(file.relative_to(ROOT)))
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
