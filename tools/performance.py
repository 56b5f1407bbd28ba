"""`./dev bench --write`: runs the benchmarks and the cold starts, and writes docs/performance.md.

Wall times depend on the machine and on what else runs on it; the page says which machine it was.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import time

import peers

ROOT = pathlib.Path(__file__).resolve().parent.parent

COLD = [  # what a person waits for: the whole process, from start to exit
    ("plan, vLLM, with all its changes re-planned", ["plan", "llama-3.1-8b", "--gpu", "h100-sxm", "--ctx", "8k", "--json"]),
    ("plan, llama.cpp, with all its changes re-planned",
     ["plan", "llama-3.1-70b", "--weights", "Q4_K_M", "--engine", "llama.cpp", "--gpu", "h100-sxm", "--ctx", "64k", "--concurrency", "2", "--json"]),
    ("inspect", ["inspect", "qwen3-8b", "--json"]),
    ("gpus: every GPU, count and layout", ["gpus", "Qwen/Qwen3-32B", "--ctx", "8k", "--concurrency", "50", "--json"]),
    ("max: users at 8k", ["max", "qwen3-8b", "--gpu", "rtx-4090", "--of", "concurrency", "--ctx", "8k", "--json"]),
]


def cold_start(binary, arguments, runs=21):
    """(median, fastest) of whole runs in milliseconds."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        subprocess.run([binary, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times), min(times)


def benchmarks(folder, arguments):
    """Rows of every Google Benchmark program in the folder."""
    for program in sorted(folder.glob("*_bench")):
        run = subprocess.run([program, "--benchmark_format=json", *arguments], capture_output=True, text=True, check=False)
        try:
            document = json.loads(run.stdout)
        except ValueError:
            yield program.name, {"name": "failed: " + run.stderr.strip()[-200:], "real_time": 0, "time_unit": ""}
            continue
        for row in document["benchmarks"]:
            yield program.name, row


def page(binary, folder, arguments):
    lines = ["# Performance", "",
             f"Written by `./dev bench --write` on {datetime.date.today()}; do not edit. One core of {cpu()}, with",
             f"{os.cpu_count()} cores and a load of {os.getloadavg()[0]:.1f} while it ran.", "",
             "## Whole commands, cold", "", "| command | median ms | fastest ms |", "|---|---:|---:|"]
    for name, command in COLD:
        median, fastest = cold_start(binary, command)
        lines.append(f"| {name} | {median:.1f} | {fastest:.1f} |")
    lines += ["", *peers.table(binary, folder / "gguf_header_bench")]
    lines += ["", "## Inside", "", "| program | benchmark | time | a second |", "|---|---|---:|---:|"]
    for program, row in benchmarks(folder, arguments):
        rate = row.get("items_per_second")
        lines.append(f"| {program} | {row['name']} | {row['real_time']:.3g} {row['time_unit']} | "
                     f"{'' if rate is None else f'{rate:,.0f}'} |")
    return "\n".join(lines + web_section()) + "\n"


def web_section():
    """What web/tests/08_performance.test.mjs measured last, or nothing where it has not run."""
    path = ROOT / "build/web/performance.json"
    if not path.is_file():
        return []
    measured = json.loads(path.read_text(encoding="utf-8"))
    lines = ["", "## The page", "",
             f"Measured by `web/test.sh` in Chromium on {measured['date']}, {os.cpu_count()} cores with a load of {measured['load']:.1f}; the goal is the"
             " design's, what the suite holds it to stands in `web/budgets.json` (for the fastest run, times how slow the machine is at that moment).", "",
             "| what | median | fastest | goal | held to |", "|---|---:|---:|---:|---:|"]
    for row in measured["rows"]:
        held = [f"{row[key]:.0f} {row['unit']}" if key in row else "" for key in ("bar", "most")]
        lines.append(f"| {row['name']} | {row['median']:.1f} {row['unit']} | {row['fastest']:.1f} {row['unit']} | {held[0]} | {held[1]} |")
    return lines


def replace_web_section(text):
    """docs/performance.md with the section of the page measured anew and all else as it is."""
    head, mark, rest = text.partition("\n## The page\n")
    after = rest.partition("\n## ")
    tail = "\n## " + after[2] if mark and after[1] else ""
    return head.rstrip() + "\n" + "\n".join(web_section()) + "\n" + tail


def cpu():
    try:
        for line in open("/proc/cpuinfo", encoding="utf-8"):
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "an unnamed processor"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=str(ROOT / "build/release/bin/vramwise"))
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/release/bench")
    parser.add_argument("--only-page", action="store_true", help="write anew what web/test.sh measured, leave the rest")
    known, rest = parser.parse_known_args()
    written = ROOT / "docs/performance.md"
    text = replace_web_section(written.read_text(encoding="utf-8")) if known.only_page else page(known.binary, known.folder, rest)
    (ROOT / "docs/performance.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
