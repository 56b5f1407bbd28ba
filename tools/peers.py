"""Reads one GGUF header with us and with others: whole processes, from start to exit.

The file is that of bench/gguf_header_bench.cpp: the header of Llama 3.1 70B with its 128,256 tokens
and 280,147 merges, 6.7 MB in front of sparse data. Others: @huggingface/gguf from the npm registry
under Node, and gguf-parser-go built from its Go module. What cannot be had is left out, with the
reason. Both go under .cache/peers.
"""
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "peers"
HF_GGUF = "@huggingface/gguf@0.4.6"
GGUF_PARSER = "github.com/gpustack/gguf-parser-go v0.28.2"

NODE_SCRIPT = """\
import { gguf } from "@huggingface/gguf";
const { metadata, tensorInfos } = await gguf(process.argv[2], { allowLocalFile: true });
if (tensorInfos.length !== 724) throw new Error(`${tensorInfos.length} tensors`);
console.log(Object.keys(metadata).length, tensorInfos.length);
"""

GO_PROGRAM = """\
package main

import (
	"fmt"
	"os"

	parser "github.com/gpustack/gguf-parser-go"
)

func main() {
	file, err := parser.ParseGGUFFile(os.Args[1])
	if err != nil || len(file.TensorInfos) != 724 {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(len(file.Header.MetadataKV), len(file.TensorInfos))
}
"""


def wall(command, runs, env=None):
    """Fastest and median of whole runs in milliseconds."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, env=env)
        times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times), min(times)


def said(run):
    """The last line of what a failed command printed."""
    lines = [line for line in (run.stderr + run.stdout).splitlines() if line.strip()]
    return lines[-1][:160] if lines else f"exit {run.returncode}"


def hf_gguf(path):
    """(command, None) or (None, why not)."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return None, "no node or npm on this machine"
    folder = CACHE / "node"
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "read.mjs"
    script.write_text(NODE_SCRIPT, encoding="utf-8")
    if not (folder / "node_modules" / "@huggingface" / "gguf").exists():
        run = subprocess.run([npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error", HF_GGUF],
                             capture_output=True, text=True, timeout=300, check=False)
        if run.returncode:
            return None, "npm: " + said(run)
    return [node, str(script), path], None


def gguf_parser_go(path):
    """Its command is a module of its own that the proxy lacks, so a few lines call the library."""
    go = shutil.which("go") or next((p for p in ("/usr/local/go/bin/go",) if os.access(p, os.X_OK)), None)
    if not go:
        return None, "no Go on this machine"
    folder = CACHE / "go"
    program = folder / "read" / "read"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        (program.parent / "main.go").write_text(GO_PROGRAM, encoding="utf-8")
        (program.parent / "go.mod").write_text(f"module read\n\ngo 1.22\n\nrequire {GGUF_PARSER}\n", encoding="utf-8")
        env = {**os.environ, "GOPATH": str(folder), "GOFLAGS": "-modcacherw -mod=mod", "GOCACHE": str(folder / "cache")}
        run = subprocess.run([go, "build", "-o", str(program), "."], capture_output=True, text=True, timeout=900, env=env,
                             cwd=program.parent, check=False)
        if run.returncode:
            return None, "go build: " + said(run)
    return [str(program), path], None


PEERS = [("@huggingface/gguf (Node)", hf_gguf, 50), ("gguf-parser-go", gguf_parser_go, 10)]


def table(binary, bench):
    """Lines of Markdown."""
    lines = ["## A GGUF header of 6.7 MB, beside others", "",
             "Llama 3.1 70B with 128,256 tokens and 280,147 merges; whole processes, fastest of the runs.", "",
             "| program | fastest ms | median ms | times as long as ours |", "|---|---:|---:|---:|"]
    with tempfile.TemporaryDirectory(prefix="vramwise-peers-") as folder:
        path = os.path.join(folder, "llama-70b.gguf")
        run = subprocess.run([bench, "--benchmark_filter=read_header$"], capture_output=True, text=True, check=False,
                             env={**os.environ, "VRAMWISE_BENCH_FILE": path})
        if not os.path.exists(path):
            return lines + [f"| no file was made: {said(run)} | | | |"]
        median, ours = wall([binary, "inspect", path, "--json"], 31)
        lines.append(f"| `vramwise inspect FILE --json` | {ours:.1f} | {median:.1f} | 1 |")
        for name, prepare, bar in PEERS:
            command, why = prepare(path)
            if command:
                try:
                    median, fastest = wall(command, 7)
                    lines.append(f"| {name} | {fastest:.0f} | {median:.0f} | {fastest / ours:.0f} (bar: {bar}) |")
                    continue
                except subprocess.CalledProcessError as e:
                    why = f"it failed with exit code {e.returncode}"
            lines.append(f"| {name} | – | – | not measured: {why} |")
    return lines


if __name__ == "__main__":
    print("\n".join(table(str(ROOT / "build/release/bin/vramwise"), str(ROOT / "build/release/bench/gguf_header_bench"))))
