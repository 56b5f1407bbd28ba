"""Fills README.md and docs/ from commands: what stands under a command is what it prints.

    python3 tools/transcripts.py [--check]

A block between `<!-- vramwise ARGS -->` and `<!-- end -->` holds `vramwise ARGS` and what it prints at 80 columns, with
`| head N` its first N lines; the block of `<!-- accuracy -->` the main figures of the project's own measured set.
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


def printed(asked, lines):
    run = subprocess.run([BINARY, *shlex.split(asked)[1:], "--width", "80"], capture_output=True, text=True, check=False,
                         cwd=ROOT, env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"})
    output = [line.rstrip() for line in run.stdout.rstrip().splitlines()]
    shown = output[:int(lines)] if lines else output
    more = [f"… {len(output) - len(shown)} more lines"] if len(shown) < len(output) else []
    return "\n".join(["```", f"$ {asked}", *shown, *more, "```"]) + "\n"


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
        body = accuracy() if match[1] == "accuracy" else printed(match[1], match[2])
        return f"<!-- {match[1]}{f' | head {match[2]}' if match[2] else ''} -->\n{body}<!-- end -->"

    return re.sub(r"<!-- (accuracy|vramwise .*?)(?: \| head (\d+))? -->\n.*?<!-- end -->", block, text, flags=re.S)


def main():
    stale = []
    for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]:
        old = path.read_text(encoding="utf-8")
        new = filled(old)
        if new == old:
            continue
        stale.append(str(path.relative_to(ROOT)))
        if "--check" not in sys.argv[1:]:
            path.write_text(new, encoding="utf-8")
    if stale and "--check" in sys.argv[1:]:
        raise SystemExit(f"transcripts: not what the commands print: {', '.join(stale)}; python3 tools/transcripts.py")


if __name__ == "__main__":
    main()
