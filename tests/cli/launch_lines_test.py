#!/usr/bin/env python3
"""Launch lines out and in again: the command that a plan prints, and a line written from a case's own options, are
read back as the same plan. Over every start in tests/measured."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))

from accuracy import cases  # noqa: E402
from accuracy.planner import Planner  # noqa: E402

VRAMWISE = os.environ.get("VRAMWISE", "build/release/bin/vramwise")
PLAN = ("outcome", "answer", "totals", "readings", "ledger", "kv", "log", "devices", "buffers")
# trtllm-serve takes these on its command line, everything else in a file.
TRTLLM_FLAGS = {"tensor_parallel_size", "pipeline_parallel_size", "moe_expert_parallel_size", "max_batch_size",
                "max_num_tokens", "max_seq_len", "free_gpu_memory_fraction", "kv_cache_dtype"}


def started(line, request):
    """The same question with a line in place of model, engine and options."""
    asked = {k: v for k, v in request.items() if k != "engine"}
    version = request["engine"].get("version")
    return {**asked, "line": line, **({"engine": {"version": version}} if version else {})}


def words_of(name, value, engine):
    dash = name if engine == "trtllm" else name.split(".")[0].replace("_", "-") + name[len(name.split(".")[0]):]
    flag = "--" + dash
    if isinstance(value, bool):
        if "." in name or engine == "trtllm":
            return [flag, str(value).lower()]
        return [flag] if value else ["--no-" + dash] if engine in ("vllm", "llama.cpp") else []
    texts = [json.dumps(v) if isinstance(v, (dict, list)) else str(v) for v in (value if isinstance(value, list) else [value])]
    return [flag, ",".join(texts)] if engine == "llama.cpp" else [flag, *texts]


def line_of(request):
    """As a person would write it, without the program's own writer."""
    engine, model = request["engine"]["name"], request["model"].get("ref", "model")
    words = {"vllm": ["vllm", "serve", model], "sglang": ["python", "-m", "sglang.launch_server", "--model-path", model],
             "trtllm": ["trtllm-serve", model]}.get(engine, ["llama-server", "-m", "model.gguf"])
    file = ""
    for name, value in request["engine"].get("options", {}).items():
        if engine == "trtllm" and name not in TRTLLM_FLAGS:
            file += f"{json.dumps({name: value})[1:-1]}\n" if "." not in name else (
                f"{name.split('.')[0]}: {json.dumps({name.split('.')[1]: value})}\n")
        else:
            words += words_of(name, value, engine)
    env = " ".join(f"{k}={shlex.quote(v)}" for k, v in request["engine"].get("env", {}).items())
    line = (env + " " + shlex.join(words)).strip()
    return f"cat > more.yaml <<'EOF'\n{file}EOF\n{line} --extra_llm_api_options more.yaml" if file else line


class RoundTrips(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.planner = Planner(VRAMWISE)
        found = [c for c in cases.load_measured() if c.kind in ("serving", "llamacpp_log")]
        requests = [{**c.request, "levers": False} for c in found]
        cls.plans = [(c.label, r, p) for c, r, p in zip(found, requests, cls.planner.ask(requests)) if "error" not in p]

    def differences(self, lines):
        answers = self.planner.ask([started(line, r) for line, (_, r, _) in zip(lines, self.plans)])
        wrong = []
        for (label, _, plan), line, answer in zip(self.plans, lines, answers):
            if "error" in answer:
                wrong.append((label, answer["error"]["message"], line))
            elif parts := [k for k in PLAN if plan.get(k) != answer.get(k)]:
                wrong.append((label, parts, line))
        return wrong

    def test_the_printed_command_is_the_same_plan(self):
        self.assertGreater(len(self.plans), 100)
        self.assertEqual(self.differences([plan["command"] for _, _, plan in self.plans]), [])

    def test_a_line_from_the_options_is_the_same_plan(self):
        # A llama-server decides for itself how many slots it has; these cases are of other programs.
        lines = [line_of(r) for _, r, _ in self.plans]
        wrong = [w for w in self.differences(lines) if "llama-server" not in w[2] or "--parallel" in w[2]]
        self.assertEqual(wrong, [])


class Files(unittest.TestCase):
    def test_a_configuration_beside_the_line_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text, line, options in (
                    ("serve.yaml", "model: qwen3-8b\nmax-model-len: 4096\ntensor-parallel-size: 2\n", ["vllm", "serve", "--config"],
                     {"max_model_len": 4096, "tensor_parallel_size": 2}),
                    ("extra.yml", "max_batch_size: 48\n", ["trtllm-serve", "qwen3-8b", "--extra_llm_api_options"],
                     {"max_batch_size": 48})):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                asked = [VRAMWISE, "plan", "--gpu", "h100-sxm", "--json", "--", *line, path]
                answer = json.loads(subprocess.run(asked, capture_output=True, text=True, timeout=60).stdout)
                self.assertEqual({k: v for k, v in answer["engine"]["options"].items() if k in options}, options)
                self.assertEqual([w for w in answer["warnings"] if path in w["text"]], [])
                self.assertNotIn(path, json.dumps(answer["command"]))
                os.remove(path)
                answer = json.loads(subprocess.run(asked, capture_output=True, text=True, timeout=60).stdout)
                said = [answer["error"]["message"]] if "error" in answer else [w["text"] for w in answer["warnings"]]
                self.assertTrue(any(path in text for text in said), said)


class Reading(unittest.TestCase):
    def run_it(self, *arguments):
        return subprocess.run([VRAMWISE, *arguments], capture_output=True, text=True, timeout=60)

    def plan(self, line, *flags):
        done = self.run_it("plan", "--gpu", "h100-sxm", "--json", *flags, "--", *shlex.split(line))
        return json.loads(done.stdout)

    def test_every_variable_that_an_engine_reads_is_read_in_a_line_too(self):
        lines = {"vllm": "vllm serve o/m", "sglang": "python -m sglang.launch_server --model-path o/m",
                 "trtllm": "trtllm-serve o/m", "llamacpp": "llama-server -m m.gguf", "ollama": "ollama serve"}
        variable = re.compile(r'"((?:VLLM|SGLANG|SGL|TRTLLM|TLLM|LLAMA|OLLAMA|GGML|PYTORCH|CUDA|NCCL)_[A-Z0-9_]+)"')
        for engine, line in lines.items():
            sources = pathlib.Path(ROOT, "src/engines", engine).rglob("*.cpp")
            names = {name for path in sources if not path.name.endswith("_test.cpp")
                     for name in variable.findall(path.read_text(encoding="utf-8"))}
            self.assertTrue(names or engine == "llamacpp", engine)
            for name in sorted(names):
                read = json.loads(self.run_it("launch", "--json", "--", f"{name}=1 {line}").stdout)["launch"]
                self.assertIn(name, read.get("env", {}), f"{engine} reads it, and the line reader drops it")

    def test_variables_reach_the_plan_however_they_are_given(self):
        serve = "vllm serve Qwen/Qwen3-8B --max-model-len 8192"
        image = "vllm/vllm-openai:v0.26.0"
        compose = ("services:\n  v:\n    image: " + image + "\n    command: --model Qwen/Qwen3-8B --max-model-len 8192\n"
                   "    environment:")
        for line in ("VLLM_FORCE_AOT_LOAD=1 " + serve, "env VLLM_FORCE_AOT_LOAD=1 " + serve,
                     "export VLLM_FORCE_AOT_LOAD=1\n" + serve,
                     f"docker run -e VLLM_FORCE_AOT_LOAD=1 {image} --model Qwen/Qwen3-8B --max-model-len 8192",
                     compose + "\n      - VLLM_FORCE_AOT_LOAD=1\n", compose + "\n      VLLM_FORCE_AOT_LOAD: 1\n",
                     "[Service]\nEnvironment=VLLM_FORCE_AOT_LOAD=1\nExecStart=/usr/bin/" + serve):
            answer = json.loads(self.run_it("plan", "--gpu", "l4", "--engine-version", "0.26.0", "--json", "--", line).stdout)
            self.assertNotIn("first_start", [note["id"] for note in answer["assumptions"]], line)
            self.assertIn("VLLM_FORCE_AOT_LOAD=1", answer["command"], line)

    def test_unknown_options_are_said(self):
        answer = self.plan("vllm serve Qwen/Qwen3-8B --max-model-lenn 3000 --foo 1")
        texts = [w["text"] for w in answer["warnings"] if w["id"] == "unknown_option"]
        self.assertEqual(len(texts), 2)
        self.assertIn("a similar option exists: --max-model-len", texts[0])

    def test_harmless_options_stay_in_the_command_and_secrets_do_not(self):
        command = self.plan("vllm serve Qwen/Qwen3-8B --trust-remote-code --port 9000 --api-key abc")["command"]
        self.assertIn("--trust-remote-code", command)
        self.assertIn("--port 9000", command)
        self.assertNotIn("abc", command)

    def test_options_are_shown_with_who_decided_them(self):
        line = ("VLLM_USE_V1=1 vllm serve Qwen/Qwen3-8B --max-model-len 8k --kv-cache-dtype auto --enable-nccl-comm-suspend "
                "--trust-remote-code --api-key abc --foo 3")
        answer = self.plan("env " + line, "--show-options")
        rows = {row["name"]: row for row in answer["options"]}
        told = {name: [rows[name].get(k) for k in ("value", "from", "given", "moves", "counted")] for name in
                ("max_model_len", "max_num_seqs", "gpu_memory_utilization", "enable_nccl_comm_suspend", "trust_remote_code", "api_key")}
        self.assertEqual(told, {
            "max_model_len": [8000, "line", True, "limits", None],
            "max_num_seqs": [rows["max_num_seqs"]["value"], "cards", False, "limits", None],
            "gpu_memory_utilization": [rows["gpu_memory_utilization"]["value"], "default", False, "kv", None],
            "enable_nccl_comm_suspend": [True, "line", True, "runtime", False],
            "trust_remote_code": [True, "line", True, None, None],
            "api_key": [None, "line", True, None, None]})
        self.assertEqual([rows["kv_cache_dtype"][k] for k in ("asked", "value")], ["auto", "bfloat16"])
        self.assertTrue(rows["--foo"]["unknown"])
        self.assertIn("uncounted_option", [w["id"] for w in answer["warnings"]])
        self.assertNotIn("abc", json.dumps(answer))
        text = self.run_it("plan", "--gpu", "h100-sxm", "--show-options", "--width", "80", "--", *shlex.split(line)).stdout
        table = text[text.index("\nOptions\n"):].split("\n\n")[0]
        self.assertRegex(table, r"--enable-nccl-comm-suspend +true +the line +runtime \*")
        self.assertRegex(table, r"--max-num-seqs +[\d,]+ +the cards +limits")
        self.assertLessEqual(max(map(len, table.split("\n"))), 80)

    def test_flags_of_ours_and_the_question_are_told_apart(self):
        done = self.run_it("plan", "qwen3-8b", "--engine", "llama.cpp", "--weights", "Q4_K_M", "--gpu", "rtx-4090", "--ctx", "8k",
                           "-o", "ubatch_size=256", "-o", "no_such=1", "--show-options", "--json")
        answer = json.loads(done.stdout)
        rows = {row["name"]: row["from"] for row in answer["options"]}
        self.assertEqual([rows["ubatch_size"], rows["ctx_size"], rows["batch_size"]], ["request", "workload", "default"])
        self.assertIn("no_such", [w["text"] for w in answer["warnings"] if w["id"] == "unknown_option"][0])

    def test_options_that_change_the_config(self):
        # Qwen3's model card: 131,072 tokens by YaRN, where config.json says 40,960.
        yarn = '{"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":32768}'
        plain = self.plan("vllm serve Qwen/Qwen3-8B --max-model-len 131072")
        self.assertEqual(plain["outcome"], "refuses_to_start")
        for line in (f"vllm serve Qwen/Qwen3-8B --max-model-len 131072 --hf-overrides '{{\"rope_parameters\":{yarn}}}'",
                     f"vllm serve Qwen/Qwen3-8B --max-model-len 131072 --rope-scaling '{yarn}'"):
            answer = self.plan(line, *(["--engine-version", "0.9"] if "--rope-scaling" in line else []))
            self.assertEqual(answer.get("outcome"), "fits", answer)
            self.assertIn("yarn", answer["command"])
        line = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --json-model-override-args "
        self.assertEqual(self.plan(f"{line}'{{\"rope_scaling\":{yarn}}}'")["kv"]["max_sequence_tokens"], 131072)
        fewer = self.plan(line + """'{"num_hidden_layers":18}'""")["model"]
        self.assertEqual(fewer["kv_bytes_per_token"], 147456 // 2)
        wrong = self.plan(line + "[1]")
        self.assertIn("json_model_override_args", json.dumps(wrong["error"]))

    def test_weights_are_quantised_while_loading(self):
        for line, option in (("vllm serve Qwen/Qwen3-8B", "--quantization fp8"),
                             ("python -m sglang.launch_server --model-path Qwen/Qwen3-8B", "--quantization fp8")):
            plain, fp8 = (self.plan(text)["totals"]["weights_bytes"] for text in (line, f"{line} {option}"))
            self.assertAlmostEqual((plain - fp8) / 6_945_767_424, 1, 2)  # its linear matrices, one byte instead of two
        stored = self.plan("vllm serve Qwen/Qwen3-8B --quantization awq")
        self.assertIn("quantization_needs_checkpoint", [w["id"] for w in stored["warnings"]])

    def test_speculation_in_its_short_spelling(self):
        short = self.plan("vllm serve Qwen/Qwen3-8B --spec-method ngram --spec-tokens 5 --max-model-len 8192")
        whole = self.plan("vllm serve Qwen/Qwen3-8B --max-model-len 8192 --speculative-config "
                          """'{"method":"ngram","num_speculative_tokens":5}'""")
        self.assertEqual(short["ledger"], whole["ledger"])
        draft = self.plan("vllm serve meta-llama/Llama-3.1-8B-Instruct --spec-model meta-llama/Llama-3.2-1B-Instruct "
                          "--spec-tokens 3 --max-model-len 8192")
        self.assertTrue(any("draft" in row["item"] for row in draft["ledger"]), draft["ledger"])

    def test_the_release_decides_what_is_gone(self):
        line = "vllm serve Qwen/Qwen3-8B --swap-space 0"
        self.assertIn("was removed", self.plan(line)["error"]["message"])
        self.assertNotIn("error", self.plan(line, "--engine-version", "0.6.6"))
        gone = self.plan("vllm serve Qwen/Qwen3-8B --num-redundant-experts 2")["error"]["message"]
        self.assertIn("today it is eplb_config.num_redundant_experts", gone)

    def test_every_question_takes_a_line(self):
        line = ("--", "vllm", "serve", "Qwen/Qwen3-8B", "--max-model-len", "8192")
        for ask in (("max", "--gpu", "h100-sxm"), ("gpus",), ("inspect",), ("simulate", "--gpu", "h100-sxm", "--lengths", "chat")):
            done = self.run_it(*ask, "--json", *line)
            self.assertIn(done.returncode, (0, 1), (ask, done.stdout[-300:], done.stderr))
            self.assertNotIn("error", json.loads(done.stdout), ask)


if __name__ == "__main__":
    unittest.main()
