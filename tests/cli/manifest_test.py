"""What --emit prints: the same text as the files of tests/golden/manifests, YAML to another reader too, and
the plan of the same line when it is read back from a file."""
import json
import os
import pathlib
import shlex
import subprocess
import sys
import unittest

import yaml

VRAMWISE = os.environ.get("VRAMWISE", "build/release/bin/vramwise")
GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden" / "manifests"

# File name -> arguments of `vramwise plan`.
CASES = {
    "vllm.compose.yaml": "qwen3-8b --gpu l40s --ctx 8k --emit compose",
    "vllm.k8s.yaml": "llama-3.1-70b --gpu h100-sxm --count 4 --engine-version 0.21.0 --emit k8s",
    "vllm-two-nodes.k8s.yaml": "deepseek-v3 --gpu h100-sxm --count 16 --ctx 8k --emit k8s",
    "vllm.llm-d.yaml": "qwen3-32b --gpu h100-sxm --count 2 --ctx 8k --option max_num_seqs=64 --emit llm-d",
    "sglang-amd.compose.yaml": "qwen3-8b --engine sglang --gpu mi300x --emit compose",
    "sglang-two-nodes.k8s.yaml": "qwen3-30b-a3b --engine sglang --gpu h100-sxm --count 16 --emit k8s",
    "trtllm-config.k8s.yaml": "qwen3-8b --engine trtllm --gpu h100-sxm --option kv_cache_config.dtype=fp8 --emit k8s",
    "trtllm-config.compose.yaml": "qwen3-8b --engine trtllm --gpu h100-sxm --option kv_cache_config.dtype=fp8 --emit compose",
    "llamacpp.compose.yaml": "llama-3.1-8b --weights Q4_K_M --engine llama.cpp --gpu rtx-4090 --ctx 16k --concurrency 2 --emit compose",
    "llamacpp-cpu.k8s.yaml": "qwen3-4b --weights Q4_K_M --engine llama.cpp --gpu none --ram 32GiB --ctx 4k --emit k8s",
    "ollama.compose.yaml": "qwen3:8b --engine ollama --gpu rtx-3090 --option num_gpu=20 --emit compose",
}


def run(*arguments, text=""):
    return subprocess.run([VRAMWISE, *arguments], input=text, capture_output=True, text=True, timeout=60)


def question(arguments):
    """The flags that are no part of what the manifest says."""
    words = shlex.split(arguments)
    kept = []
    for flag in ("--gpu", "--count", "--ram", "--weights", "--ctx", "--concurrency"):
        if flag in words:
            kept += [flag, words[words.index(flag) + 1]]
    return kept


class Manifests(unittest.TestCase):
    def test_golden(self):
        self.assertEqual(sorted(p.name for p in GOLDEN.glob("*.yaml")), sorted(CASES))
        for name, arguments in CASES.items():
            with self.subTest(name):
                result = run("plan", *shlex.split(arguments))
                self.assertEqual(result.stderr, "")
                self.assertEqual(result.stdout, (GOLDEN / name).read_text(encoding="utf-8"))

    def test_another_reader_takes_them(self):
        for name in CASES:
            with self.subTest(name):
                documents = list(yaml.safe_load_all((GOLDEN / name).read_text(encoding="utf-8")))
                self.assertTrue(all(isinstance(d, dict) for d in documents))
                if ".k8s." not in name:
                    continue
                kinds = [d["kind"] for d in documents]
                self.assertIn("Service", kinds)
                for document in documents:
                    self.assertTrue(document["apiVersion"] and document["metadata"]["name"])
                    # Arguments of a container are text, never numbers.
                    for container in containers(document):
                        self.assertTrue(all(isinstance(a, str) for a in container["args"]), container)

    def test_reading_one_back_gives_the_same_plan(self):
        for name, arguments in CASES.items():
            with self.subTest(name):
                asked = shlex.split(arguments)
                first = json.loads(run("plan", *asked[:asked.index("--emit")], "--json").stdout)
                again = json.loads(run("plan", "--line", str(GOLDEN / name), *question(arguments), "--json").stdout)
                for key in ("outcome", "answer", "totals", "readings", "ledger", "kv", "log", "levers"):
                    # Containers keep their models in a folder of their own.
                    back = json.loads(json.dumps(again.get(key)).replace("/models/", ""))
                    self.assertEqual(first.get(key), back, key)

    def test_the_verdict_is_the_exit_status(self):
        result = run("plan", "llama-3.1-70b", "--weights", "bf16", "--gpu", "rtx-4090", "--emit", "k8s")
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stdout.startswith("# "), result.stdout)
        self.assertEqual(run("plan", "qwen3-8b", "--gpu", "l40s", "--emit", "nomad").returncode, 2)
        result = run("plan", "qwen3-8b", "--gpu", "l40s", "--engine", "sglang", "--emit", "llm-d")
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertIn("--emit k8s", result.stderr)


def containers(node):
    if isinstance(node, dict):
        if "args" in node:
            yield node
        else:
            for value in node.values():
                yield from containers(value)
    elif isinstance(node, list):
        for value in node:
            yield from containers(value)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        for name, arguments in CASES.items():
            (GOLDEN / name).write_text(run("plan", *shlex.split(arguments)).stdout, encoding="utf-8")
    else:
        unittest.main()
