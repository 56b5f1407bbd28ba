"""Fills README.md from commands: every figure in it is printed by one.

    python3 tools/readme.py [--check]

A block between `<!-- vramwise ARGS -->` and `<!-- end -->` holds what `vramwise ARGS` prints at 80 columns; the
block of `<!-- accuracy -->` holds the main figures of the project's own measured set.
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(os.environ.get("VRAMWISE", ROOT / "build/release/bin/vramwise"))
FIGURES = [  # key of `accuracy.py --json` -> words of the README
    ("llama.cpp dry run: tensor bytes of a mixture", "GGUF tensor bytes from config and mixture name"),
    ("llama.cpp dry run: cache bytes of a context", "llama.cpp caches"),
    ("llama.cpp dry run: compute bytes of a context", "llama.cpp compute buffers, CPU"),
    ("llama.cpp dry run: compute bytes per device", "llama.cpp compute buffers, per device"),
    ("vllm: pool, cache memory given", "vLLM pool in tokens, its cache memory given"),
    ("vllm: weights", "vLLM weights as loaded"),
    ("vllm: cache memory from the launch line", "vLLM cache memory from the launch line alone"),
    ("trtllm: cache memory from the launch line", "TensorRT-LLM cache memory from the launch line alone"),
    ("sglang: bytes per token", "SGLang bytes per token"),
]


def printed(arguments):
    run = subprocess.run([BINARY, *shlex.split(arguments), "--width", "80"], capture_output=True, text=True, check=False,
                         env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"})
    return "```\n" + run.stdout.rstrip() + "\n```\n"


def accuracy():
    run = subprocess.run([sys.executable, ROOT / "tools/accuracy.py", "--json", "--binary", BINARY], capture_output=True,
                         text=True, check=True)
    found = {f"{f['suite']}: {f['figure']}": f for f in json.loads(run.stdout)["figures"]}
    lines = ["| what | n | exact | median error |", "|---|---:|---:|---:|"]
    for key, words in FIGURES:
        node = found.get(key)
        if node is None:
            raise SystemExit(f"readme: accuracy.py has no figure '{key}': {sorted(found)}")
        lines.append(f"| {words} | {node['n']} | {node['exact'] / node['n']:.0%} | {node['median']:.2%} |")
    return "\n".join(lines) + "\n"


def filled(text):
    def block(match):
        what = match[1].strip()
        body = accuracy() if what == "accuracy" else printed(what.removeprefix("vramwise "))
        return f"<!-- {what} -->\n{body}<!-- end -->"

    return re.sub(r"<!-- ((?:vramwise|accuracy)[^>]*?) -->\n.*?<!-- end -->", block, text, flags=re.S)


def main():
    path = ROOT / "README.md"
    old = path.read_text(encoding="utf-8")
    new = filled(old)
    if "--check" in sys.argv[1:]:
        raise SystemExit(0 if new == old else "readme: README.md is not what the commands print: python3 tools/readme.py")
    path.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
