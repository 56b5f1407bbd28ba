"""`vramwise verify`: logs in our own words, read from files and pipes, beside their plans."""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.join(ROOT, "tests", "support")]

import log_lines  # noqa: E402
import log_writer  # noqa: E402
from accuracy import calibration, cases, proof, rebuilt, repairs  # noqa: E402
from accuracy.planner import Planner  # noqa: E402

VRAMWISE = os.environ.get("VRAMWISE", "build/release/bin/vramwise")
LOGS = os.path.join(ROOT, "tests", "data", "logs")
GIB = 2**30
PLANNER = Planner(VRAMWISE)


def not_right(verdicts):
    return [(case.label, happened, answered) for case, happened, answered, right in verdicts.rows if right is not True]


def run(*arguments, text=""):
    return subprocess.run([VRAMWISE, *arguments], input=text, capture_output=True, text=True, timeout=60)


def answer(*arguments, text=""):
    result = run(*arguments, "--json", text=text)
    return result.returncode, json.loads(result.stdout)


def batch(requests):
    text = "".join(json.dumps({"id": str(i), **r}) + "\n" for i, r in enumerate(requests))
    result = subprocess.run([VRAMWISE, "batch", "-"], input=text, capture_output=True, text=True, timeout=300)
    return [json.loads(line) for line in result.stdout.splitlines()]


class Doors(unittest.TestCase):
    LOG = os.path.join(LOGS, "vllm-0.11-llama-8b.log")

    def test_a_log_needs_nothing_else(self):
        code, found = answer("verify", self.LOG)
        self.assertEqual(code, 0)
        verify = found["verify"]
        self.assertEqual(verify["status"], "started")
        self.assertTrue(verify["agrees"])
        rows = {r["field"]: r for r in verify["rows"]}
        self.assertTrue({"weights", "available", "pool_tokens", "activation", "non_torch"} <= set(rows))
        self.assertEqual(rows["pool_tokens"]["logged"], 420896)

    def test_a_traceback_alone_names_no_phase_and_asks_what_ran(self):
        line = ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 0 has a total capacity of 23.64 GiB of which "
                "212.81 MiB is free. Including non-PyTorch memory, this process has 23.43 GiB memory in use. Of the allocated memory "
                "22.90 GiB is allocated by PyTorch, and 50.0 MiB is reserved by PyTorch but unallocated.\n")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "oom.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write(line)
            _, found = answer("verify", path)
            failure = found["verify"]["failure"]
            self.assertNotIn("phase", failure)
            self.assertEqual(found["verify"]["lacking"], ["engine", "model", "hardware"])
            self.assertEqual(failure["advice"], [])
            found = json.loads(run("verify", path, "--json", "--gpu", "rtx-3090", "--", "vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct").stdout)
            self.assertEqual(found["verify"]["engine"], "vllm")
            self.assertEqual({a["knob"] for a in found["verify"]["failure"]["advice"]},
                             {"gpu_memory_utilization", "max_num_batched_tokens"})
            # Less than a gigabyte: nothing was loaded yet.
            with open(path, "w", encoding="utf-8") as file:
                file.write(line.replace("22.90 GiB is allocated", "300.00 MiB is allocated"))
            _, found = answer("verify", path)
            self.assertEqual(found["verify"]["failure"]["phase"], "start")

    def test_advice_and_changes_turn_no_knob_both_ways(self):
        # Beside a cache in fp8 a smaller share is proposed, which leaves the graphs room; where the card has more, a larger one.
        for share, length, needed, there, proposed in ((0.92, 40960, "5.62", "3.46", 0.9), (0.85, 16384, "2.25", "1.91", 0.9)):
            log = ("INFO [core.py:105] Initializing a V1 LLM engine (v0.26.0) with config: model='Qwen/Qwen3-8B', dtype=torch.bfloat16, "
                   f"max_seq_len={length}, tensor_parallel_size=1, kv_cache_dtype=auto, enforce_eager=False\n"
                   f"INFO [utils.py:1] non-default args: {{'gpu_memory_utilization': {share}}}\n"
                   "INFO [gpu_model_runner.py:4000] Model loading took 15.27 GiB memory and 9.4 seconds\n"
                   f"INFO [gpu_worker.py:400] Available KV cache memory: {there} GiB\n"
                   f"ERROR [core.py:900] ValueError: To serve at least one request with the models's max seq len ({length}), ({needed} GiB "
                   f"KV cache is needed, which is larger than the available KV cache memory ({there} GiB).\n")
            _, found = answer("verify", "-", "--gpu", "l4", text=log)
            failure = found["verify"]["failure"]
            shares = {c["set"].get("engine", {}).get("options", {}).get("gpu_memory_utilization") for c in failure["changes"]} - {None}
            self.assertEqual(shares, {proposed})
            advised = {a["knob"]: a["direction"] for a in failure["advice"]}
            self.assertEqual(advised.get("gpu_memory_utilization"), "raise" if proposed > share else None)
            self.assertEqual(advised["max_model_len"], "lower")
            lower = [c["change"] for c in failure["changes"] if c["change"].startswith("give vLLM only")]
            self.assertEqual(bool(lower), proposed < share)
            self.assertTrue(all("which leaves room beside it" in change for change in lower), lower)

    def test_a_restart_is_told_from_a_first_start(self):
        head = ("INFO 09-20 10:00:00 [api_server.py:1712] vLLM API server version 0.28.0\n"
                "(EngineCore pid=2) INFO 09-20 10:00:10 [core.py:58] Initializing a V1 LLM engine (v0.28.0) with config: "
                "model='Qwen/Qwen3-8B', dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=1\n")
        loaded = "(EngineCore pid=2) INFO [decorators.py:311] Directly load AOT compilation from path /root/.cache/vllm/x\n"
        room = "(EngineCore pid=2) INFO 09-20 10:00:50 [gpu_worker.py:333] Available KV cache memory: {} GiB\n"
        for log, said in ((head + room.format("3.45"), "counted as the first start"),
                          (head + loaded + room.format("4.42"), "read as a restart")):
            _, found = answer("verify", "-", "--gpu", "l4", text=log)
            self.assertTrue(found["verify"]["agrees"], found["verify"]["rows"])
            self.assertTrue(any(note["text"].startswith(said) for note in found["assumptions"]), found["assumptions"])
            self.assertNotIn("first_start", [note["id"] for note in found["warnings"]])

    def test_ollama_and_its_child_are_one_log(self):
        # The first lines are Ollama's own, the others llama.cpp's; the settings stand in the child's command.
        code, found = answer("verify", os.path.join(LOGS, "ollama-0.33-qwen3-8b.log"))
        self.assertEqual(code, 0)
        rows = {r["field"]: r for r in found["verify"]["rows"]}
        self.assertTrue({"gpu_available", "gpu_minimum", "model_buffer", "kv_buffer", "compute_buffer"} <= set(rows))
        self.assertEqual([r["field"] for r in rows.values() if not r["exact"]], [])
        options = found["verify"]["request"]["engine"]["options"]
        self.assertEqual((options["num_ctx"], options["num_parallel"], options["num_batch"]), (8192, 1, 1024))

    def test_memory_that_nothing_printed_may_be_another_process(self):
        # Of a shared card (WaroonRagwongsiri/SuperAi-SS6-Level2-Hack4 llm.log); what vLLM measures is free memory.
        log = ("INFO [utils.py:1] vLLM API server version 0.22.0\n"
               "INFO [utils.py:278] non-default args: {'model': 'Qwen/Qwen3-8B', 'max_model_len': 8192, "
               "'gpu_memory_utilization': 0.6, 'max_num_seqs': 2}\n"
               "INFO [model_runner.py:295] Model loading took 15.27 GiB and 5.1 seconds\n"
               "INFO [gpu_worker.py:466] Available KV cache memory: 37.81 GiB\n")
        _, found = answer("verify", "-", "--gpu", "rtx-pro-6000-ws", text=log)
        texts = [a["text"] for a in found["verify"]["attribution"] if a["beyond_bar"]]
        self.assertTrue(any("another process" in t for t in texts), texts)
        more = log.replace("37.81", "42.81")
        _, found = answer("verify", "-", "--gpu", "rtx-pro-6000-ws", text=more)
        self.assertFalse(any("another process" in a["text"] for a in found["verify"]["attribution"]))

    def test_file_pipe_and_request_agree(self):
        with open(self.LOG, encoding="utf-8") as file:
            text = file.read()
        _, from_file = answer("verify", self.LOG)
        _, from_pipe = answer("verify", "-", text=text)
        self.assertEqual(from_file, from_pipe)
        request = json.dumps({"ask": "verify", "log": text})
        result = run("batch", "-", text=request + "\n")
        self.assertEqual(json.loads(result.stdout)["verify"]["rows"], from_file["verify"]["rows"])

    def test_text_fits_eighty_columns(self):
        result = run("verify", self.LOG, "--width", "80")
        self.assertEqual(result.returncode, 0)
        self.assertTrue(result.stdout.startswith("✓ as predicted"), result.stdout)
        for line in result.stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_no_match_is_a_finding(self):
        result = run("verify", "-", text="hello\nworld\n")
        self.assertEqual(result.returncode, 3)
        self.assertIn("no line of the log", result.stderr)
        self.assertEqual(run("verify", "-").returncode, 3)
        self.assertEqual(run("verify", "./nowhere.log").returncode, 4)
        self.assertEqual(run("verify", "/").returncode, 3)
        self.assertEqual(run("verify").returncode, 2)

    def test_follow_waits_for_the_server(self):
        with open(self.LOG, encoding="utf-8") as file:
            lines = file.readlines()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.log")
            with open(path, "w", encoding="utf-8") as grow:
                grow.writelines(lines[:4])
                grow.flush()
                with subprocess.Popen([VRAMWISE, "verify", path, "--follow", "--json"],
                                      stdout=subprocess.PIPE) as process:
                    time.sleep(0.3)
                    self.assertIsNone(process.poll())
                    grow.writelines(lines[4:])
                    grow.flush()
                    out, _ = process.communicate(timeout=30)
            self.assertEqual(json.loads(out)["verify"]["status"], "started")
            self.assertEqual(process.returncode, 0)


class PostMortem(unittest.TestCase):
    """tests/data/logs/failures.jsonl: tracebacks and refusals in our own words."""

    def test_phase_cause_and_shortfall(self):
        found = proof.failures(PLANNER)
        self.assertGreaterEqual(len(found[0].rows), 60)
        for verdicts in found:
            self.assertEqual(not_right(verdicts), [], verdicts.name)

    def test_what_is_proposed_fits_when_planned_again(self):
        published, written = repairs.trials(PLANNER, cases.load_measured())
        for tried in (published, written):
            for verdicts in (tried.first, tried.all):
                self.assertEqual(not_right(verdicts), [], verdicts.name)
        self.assertGreaterEqual(len(published.first.rows), 13)
        # Of every engine, and every one of them gets a proposal.
        self.assertEqual(len(written.first.rows), len(repairs.deaths.QUESTIONS))
        self.assertEqual(written.without, [])
        self.assertLessEqual({"options", "weights", "cards"}, set(written.kinds))

    def test_a_death_that_the_numbers_do_not_show_gets_no_proposal(self):
        log = "ggml_gallocr_reserve_n: failed to allocate Vulkan0 buffer of size 4757131264\n"
        found = PLANNER.ask([{"ask": "verify", "log": log, "model": {"ref": "Qwen/Qwen3-8B"}, "weights": "Q4_K_M",
                              "engine": {"name": "llama.cpp", "options": {"ctx_size": 8192, "n_gpu_layers": 99}},
                              "hardware": {"gpu": "rtx-4090", "backend": "vulkan"}}])[0]
        failure = found["verify"]["failure"]
        self.assertEqual((failure["phase"], failure["reproduced"], failure["changes"]), ("warmup", False, []))
        self.assertIn("4.43 GiB in one piece", failure["no_changes_because"])
        self.assertNotIn("as_it_was", failure)

    def test_a_death_of_other_causes_gets_no_proposal(self):
        log = ("server_args=ServerArgs(model_path='Qwen/Qwen3-8B')\n"
               "[2026-03-04 05:06:07] Load weight begin. avail mem=78.00 GB\n"
               "kernel: Out of memory: Killed process 4242 (python3) total-vm:9000kB\n")
        found = PLANNER.ask([{"ask": "verify", "log": log, "hardware": {"gpu": "h100-sxm"}}])[0]
        failure = found["verify"]["failure"]
        self.assertEqual((failure["cause"], failure["changes"]), ("host_memory", []))
        self.assertIn("the host ran out of memory", failure["no_changes_because"])

    def test_a_change_would_have_started_it(self):
        code, found = answer("verify", os.path.join(LOGS, "vllm-0.11-qwen3-32b-refused.log"), "--gpu", "rtx-4090")
        self.assertEqual(code, 1)
        failure = found["verify"]["failure"]
        self.assertTrue(failure["reproduced"])
        self.assertEqual(failure["changes"][0]["outcome"], "fits")
        self.assertNotIn("another GPU", failure["changes"][0].get("option", ""))

    def test_the_fraction_is_raised_as_far_as_the_weights_need_and_no_card_is_its_own_remedy(self):
        # SemiAnalysisAI/InferenceX#2128: the weights need 0.9113 of the card, 0.9 would die the same death.
        log = ("[2026-07-09 10:00:00 TP0] Load weight end. quant=fp8, fmt=e4m3, avail mem=12.25 GB, mem usage=125.65 GB.\n"
               "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.88.\n")
        found = PLANNER.ask([{"ask": "verify", "log": log, "model": {"ref": "deepseek-ai/DeepSeek-V4-Pro"},
                              "engine": {"name": "sglang", "options": {"tp_size": 8, "mem_fraction_static": 0.88}},
                              "hardware": {"gpu": "h200-sxm", "count": 8}}])[0]
        changes = found["verify"]["failure"]["changes"]
        self.assertIn("--mem-fraction-static 0.93", changes[0]["option"])
        self.assertNotIn("h200-sxm", [c["set"].get("hardware", {}).get("gpu") for c in changes])


class RebuiltLogs(unittest.TestCase):
    """tests/data/logs/printed.jsonl: what runs printed, written anew in the wording of their release."""

    def wrong(self, change=None):
        found = []
        for row, fields, wrong in rebuilt.read_back(PLANNER, rebuilt.load(), change):
            self.assertGreater(fields, 0)
            found += [(row["place"], w) for w in wrong]
        return found

    def test_every_field_is_read_back(self):
        rows = rebuilt.load()
        self.assertGreater(len(rows), 240)
        self.assertLessEqual({"vllm", "sglang", "trtllm", "llama.cpp", "ollama"}, {row["engine"] for row in rows})
        self.assertEqual(self.wrong(), [])

    def test_in_every_wrapping(self):
        for name, wrap in log_lines.WRAPPINGS.items():
            with self.subTest(name):
                self.assertEqual(self.wrong(wrap), [])

    def test_folded_lines_lose_little_and_are_never_misread(self):
        fields = sum(len(rebuilt.write(row).expect) for row in rebuilt.load())
        lost = self.wrong(log_lines.folded)
        self.assertEqual([w for w in lost if w[1][2]], [])
        self.assertLess(len(lost), fields * 0.001)

    def test_lines_of_narrow_windows_are_put_together(self):
        narrow = {"mail of 80": lambda text: log_lines.folded(text, 80, ""), "terminal of 100": lambda text: log_lines.cut(text, 100),
                  "terminal of 120": lambda text: log_lines.cut(text, 120)}
        for name, change in narrow.items():
            with self.subTest(name):
                self.assertEqual(self.wrong(change), [])
                self.assertEqual([wrong for v in proof.failures(PLANNER, change) for wrong in not_right(v)], [])

    def test_a_line_number_is_that_of_the_text_as_it_was_given(self):
        log = "INFO [gpu_worker.py:298] something of no interest that is a little longer\n" + log_lines.cut(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB. GPU 0 has a total capacity of 23.64 GiB of "
            "which 63.12 MiB is free. Including non-PyTorch memory, this process has 23.50 GiB memory in use.", 80)
        failure = PLANNER.ask([{"ask": "verify", "log": log}])[0]["verify"]["failure"]
        self.assertEqual((failure["log_line"], failure["kind"]), (2, "out_of_memory"))
        self.assertAlmostEqual(failure["available"] / 2**20, 63.12, delta=0.01)

    def test_every_measured_case(self):
        rows = [rebuilt.row_of(c) for c in cases.load_measured() if c.kind in ("serving", "llamacpp_log")]
        wrong = [(row["place"], w) for row, _, wrong in rebuilt.read_back(PLANNER, rows) for w in wrong]
        self.assertEqual(wrong, [])


class SeededFaults(unittest.TestCase):
    def test_the_changed_term_is_named(self):
        found = proof.seeded_faults(PLANNER, cases.load_measured())
        self.assertGreaterEqual(len(found.rows), 100)
        wrong = not_right(found)
        self.assertLessEqual(len(wrong), len(found.rows) * 0.01, wrong)


class Calibration(unittest.TestCase):
    LOG = Doors.LOG
    QUESTION = ("plan", "meta-llama/Llama-3.1-8B-Instruct", "--gpu", "h100-sxm", "--engine-version", "0.11.0",
                "-o", "max_model_len=16000", "-o", "gpu_memory_utilization=0.9")

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.env = {**os.environ, "XDG_CONFIG_HOME": self.folder.name}

    def tearDown(self):
        self.folder.cleanup()

    def run_here(self, *arguments, text=""):
        return subprocess.run([VRAMWISE, *arguments], input=text, capture_output=True, text=True, timeout=60, env=self.env)

    def width(self, *more):
        kv = json.loads(self.run_here(*self.QUESTION, *more, "--json").stdout)["kv"]
        return kv["available_high_bytes"] - kv["available_low_bytes"]

    def test_saved_runs_narrow_the_bar(self):
        before = self.width()
        self.assertEqual(self.run_here("verify", self.LOG, "--save").returncode, 0)
        after = self.width()
        self.assertLess(after, before)
        self.assertEqual(self.width("--no-calibration"), before)
        found = json.loads(self.run_here(*self.QUESTION, "--json").stdout)
        self.assertTrue(any(a["id"] == "calibrated" for a in found["assumptions"]))
        self.assertTrue(any(r["basis"] == "measured" for r in found["ledger"]))

    def test_one_log_is_one_run(self):
        for _ in range(2):
            self.run_here("verify", self.LOG, "--save")
        runs = json.loads(self.run_here("calibration", "list", "--json").stdout)["runs"]
        self.assertEqual(len(runs), 1)

    def test_a_single_run_leaves_the_bar_of_unified_memory(self):
        self.run_here("verify", self.LOG, "--save")
        run_here = json.loads(self.run_here("calibration", "export").stdout)["runs"][0]
        run_here["gpu"] = "dgx-spark-gb10"
        request = {"model": {"ref": "meta-llama/Llama-3.1-8B-Instruct"}, "hardware": {"gpu": "dgx-spark-gb10"},
                   "engine": {"name": "vllm", "version": "0.11.0", "options": {"max_model_len": 16000}}}
        plain = batch([request])[0]["kv"]
        one = batch([{**request, "calibration": [run_here]}])[0]["kv"]
        two = batch([{**request, "calibration": [run_here, {**run_here, "source": "b"}]}])[0]["kv"]

        def bar(kv):
            return kv["available_high_bytes"] - kv["available_low_bytes"]
        self.assertGreaterEqual(bar(one), bar(plain) * 0.9999)
        moved, whole = (plain["available_bytes"] - kv["available_bytes"] for kv in (one, two))
        self.assertAlmostEqual(moved / whole, 0.5, delta=0.01)
        self.assertLess(bar(two), bar(plain))

    def test_export_import_remove(self):
        self.run_here("verify", self.LOG, "--save")
        document = self.run_here("calibration", "export").stdout
        self.assertEqual(self.run_here("calibration", "remove", "1").returncode, 0)
        self.assertEqual(json.loads(self.run_here("calibration", "export").stdout)["runs"], [])
        self.assertEqual(self.run_here("calibration", "import", "-", text=document).returncode, 0)
        self.assertEqual(self.run_here("calibration", "import", "-", text=document).returncode, 0)
        self.assertEqual(len(json.loads(self.run_here("calibration", "export").stdout)["runs"]), 1)
        self.assertEqual(self.run_here("calibration", "remove", "7").returncode, 4)
        self.assertEqual(self.run_here("calibration", "import", "-", text="{}").returncode, 3)

    def test_one_saved_run_makes_no_group_worse(self):
        for engine, least in (("vllm", 12), ("sglang", 10), ("trtllm", 2)):
            with self.subTest(engine):
                plain, saved, bars, table = calibration.calibration(PLANNER, cases.load_measured(), engine)
                self.assertGreaterEqual(len(plain.rows), least)
                self.assertEqual([row[-1] for row in table.rows if "worse" in row[-1]], [])
                self.assertLessEqual(sum(r.error for r in saved.rows), sum(r.error for r in plain.rows))
                self.assertGreaterEqual(bars.figures()["hold"], 0.9)

    def measured(self, request, log):
        return batch([{"ask": "verify", **request, "log": log}])[0]["verify"]["measured"]

    @staticmethod
    def bar(plan):
        return plan["kv"]["available_high_bytes"] - plan["kv"]["available_low_bytes"]

    def test_sglang_learns_its_context_and_what_loading_takes(self):
        request = {"model": {"ref": "Qwen/Qwen3-8B"}, "hardware": {"gpu": "h100-sxm"}, "levers": False,
                   "engine": {"name": "sglang", "version": "0.5.9", "options": {"mem_fraction_static": 0.85}}}
        plain = batch([request])[0]
        device = plain["devices"][0]
        context = next(r for r in plain["ledger"] if r["item"] == "CUDA context and communication")["bytes"]
        # This machine keeps 0.30 GiB more before loading, and loading takes 0.25 GiB more.
        before = (device["total_bytes"] - device["used_bytes"] - context) / GIB - 0.30
        weights = plain["totals"]["weights_bytes"] / GIB + 0.25
        log = log_writer.sglang({"before_loading": before, "after_loading": before - weights, "weights": weights})
        run_here = self.measured(request, log.text)
        learnt = batch([{**request, "calibration": [run_here]}])[0]
        moved = (plain["kv"]["available_bytes"] - learnt["kv"]["available_bytes"]) / GIB
        self.assertAlmostEqual(moved, 0.25 + 0.30 * 0.85, delta=0.03)
        self.assertLess(self.bar(learnt), self.bar(plain))
        self.assertTrue(any(a["id"] == "calibrated" for a in learnt["assumptions"]))
        rows = [r for r in learnt["ledger"] if r["device"] == 0]
        self.assertIn("measured", {r["basis"] for r in rows})
        self.assertAlmostEqual(sum(r["bytes"] for r in rows if r["component"] == "weights") / GIB, weights, delta=0.01)

    def test_tensorrt_learns_the_peak_of_its_trial_run(self):
        case = next(c for c in cases.load_measured() if c.engine == "trtllm" and c.measured.get("peak"))
        request = {**case.request, "levers": False}
        plain = batch([request])[0]
        log = log_writer.trtllm({"weights": case.printed("weights").value / GIB, "peak": case.printed("peak").value / GIB,
                                 "available": case.printed("cache_memory").value / GIB})
        learnt = batch([{**request, "calibration": [self.measured(request, log.text)]}])[0]
        seen = case.printed("cache_memory").value
        self.assertLess(abs(learnt["kv"]["available_bytes"] - seen), 0.02 * GIB)
        self.assertLess(self.bar(learnt), self.bar(plain))

    def test_llamacpp_learns_what_its_backend_keeps(self):
        request = {"model": {"ref": "Qwen/Qwen3-8B"}, "weights": "Q4_K_M", "hardware": {"gpu": "rtx-4090"}, "levers": False,
                   "engine": {"name": "llama.cpp", "version": "b9200", "options": {"ctx_size": 8192, "n_gpu_layers": 99}}}
        plain = batch([request])[0]
        rows = {r["item"]: r["bytes"] for r in plain["ledger"] if r["device"] == 0}
        kept = rows["context and kernels of the backend"] + rows.get("scratch of ops at the first long prompt", 0)
        more = round(kept / 2**20) + 100
        log = log_writer.llamacpp("b9200", {"model": {"CUDA0": 4000.0}}).text + (
            "llama_memory_breakdown_print: | memory breakdown [MiB]  | total    free     self   model   context   compute"
            "    unaccounted |\n"
            f"llama_memory_breakdown_print: |   - CUDA0 (RTX 4090)    | 24080 = 15000 + (8000 =  6000 +  1200 +  800) + {more} |\n")
        run_here = self.measured(request, log)
        learnt = batch([{**request, "calibration": [run_here]}])[0]
        after = next(r for r in learnt["ledger"] if r["device"] == 0 and r["item"] == "context and kernels of the backend")
        self.assertEqual(after["basis"], "measured")
        self.assertAlmostEqual((after["bytes"] - rows[after["item"]]) / 2**20, 100, delta=1.5)
        width = [r["high_bytes"] - r["low_bytes"] for p in (plain, learnt) for r in p["ledger"]
                 if r["device"] == 0 and r["item"] == after["item"]]
        self.assertLess(width[1], width[0])
        # Memory shared with the host moves from boot to boot: half of what one run shows is that machine's.
        shared = {**request, "hardware": {"gpu": "dgx-spark-gb10"}}
        run_there = {**run_here, "gpu": "dgx-spark-gb10"}
        before, halved = (next(r for r in p["ledger"] if r["device"] == 0 and r["item"] == after["item"])
                          for p in batch([shared, {**shared, "calibration": [run_there]}]))
        self.assertAlmostEqual((halved["bytes"] - before["bytes"]) / 2**20, 50, delta=1)
        self.assertEqual(halved["high_bytes"] - halved["low_bytes"], before["high_bytes"] - before["low_bytes"])

    def test_two_processes_at_once(self):
        with open(self.LOG, encoding="utf-8") as file:
            text = file.read()
        running = []
        for i in range(8):
            path = os.path.join(self.folder.name, f"{i}.log")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            running.append(subprocess.Popen([VRAMWISE, "verify", path, "--save"], env=self.env,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        for process in running:
            self.assertEqual(process.wait(timeout=60), 0)
        self.assertEqual(len(json.loads(self.run_here("calibration", "export").stdout)["runs"]), 8)


if __name__ == "__main__":
    unittest.main()
