"""The command line as people and programs meet it: exit codes, streams, colour, width, batch."""
import json
import os
import re
import subprocess
import tempfile
import unittest

VRAMWISE = os.environ.get("VRAMWISE", "build/release/bin/vramwise")


def run(*arguments, text=None, env=None):
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS")}
    clean.update(env or {})
    return subprocess.run([VRAMWISE, *arguments], input=text if text is not None else "", capture_output=True,
                          text=True, timeout=60, env=clean)


PLAN = ("plan", "llama-3.1-8b", "--gpu", "h100-sxm", "--ctx", "8k", "--concurrency", "4")
TOO_BIG = ("plan", "llama-3.1-70b", "--weights", "bf16", "--gpu", "rtx-4090")


class ExitCodes(unittest.TestCase):
    def check(self, code, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def test_verdicts(self):
        self.check(0, *PLAN)
        self.check(1, *TOO_BIG)
        self.check(0, *TOO_BIG, "--exit-zero")

    def test_text_and_json_agree(self):
        for question in (PLAN, TOO_BIG):
            self.assertEqual(run(*question).returncode, run(*question, "--json").returncode)

    def test_usage(self):
        self.check(2)
        self.check(2, "plan")
        self.check(2, "plan", "llama-3.1-8b", "--gpuu", "h100-sxm")
        self.check(2, "pln")
        self.check(2, *PLAN, "--width", "3")

    def test_unknown_names(self):
        for question in (("plan", "lama-3.1-8b", "--gpu", "h100-sxm"), ("plan", "llama-3.1-8b", "--gpu", "h20O-sxm"),
                         ("plan", "llama-3.1-8b", "--gpu", "h100-sxm", "--weights", "Q4_K_X"),
                         ("plan", "llama-3.1-8b", "--gpu", "h100-sxm", "--engine", "vlm"),
                         ("plan", "./nowhere.json", "--gpu", "h100-sxm")):
            result = self.check(4, *question)
            self.assertEqual(result.stdout, "")
            self.assertIn("error:", result.stderr)

    def test_bad_input(self):
        self.check(3, "plan", "llama-3.1-8b", "--gpu", "h100-sxm", "--ctx", "0")
        self.check(3, "plan", "llama-3.1-8b", "--gpu", "h100-sxm", "--ctx", "1000000000000")
        self.check(3, "plan", "llama-3.1-8b", "--gpu", "h100-sxm", "--ctx", "many")
        self.check(3, "plan", "--request", "-", text="{\"model\": ")
        self.check(3, "plan", "--request", "-", text="")
        self.check(3, "plan", "--request", "-", text="[1, 2]")

    def test_bad_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("empty.json", ""), ("cut.json", "{\"model_type\": \"llama\", "), ("list.json", "[]"),
                               ("bytes.json", "\x00\x01\x02")):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                result = self.check(3, "plan", path, "--gpu", "h100-sxm")
                self.assertIn(name, result.stderr)
            result = run("plan", folder, "--gpu", "h100-sxm")
            self.assertIn(result.returncode, (3, 4))
            self.assertIn("config.json", result.stderr)

    def test_every_error_has_a_next_step(self):
        result = run("plan", "llama-3.1-8b", "--gpu", "h20O-sxm")
        self.assertIn("h200-sxm", result.stderr)
        self.assertIn("help:", result.stderr)
        self.assertIn("hardware.gpu", result.stderr)

    def test_what_is_missing_is_named_in_flags(self):
        for ask in ("plan", "explain", "max"):
            result = self.check(3, ask, "qwen3-8b")
            self.assertIn("--gpu", result.stderr)
            self.assertNotIn("{", result.stderr)
        result = self.check(3, "simulate", "qwen3-8b", "--gpu", "h100-sxm")
        self.assertIn("--lengths", result.stderr)

    def test_nothing_to_watch_is_said(self):
        # On a machine with a card this watches it.
        if "no GPU found" in run("doctor").stdout:
            self.assertIn("no server given", self.check(4, "watch", "--for", "1s").stderr)


class Streams(unittest.TestCase):
    def test_json_is_one_document(self):
        for question in (PLAN, TOO_BIG, ("plan", "lama", "--gpu", "h100-sxm"), ("catalog",), ("inspect", "qwen3-8b")):
            result = run(*question, "--json")
            self.assertIn("schema_version", json.loads(result.stdout))
            self.assertEqual(result.stderr, "")

    def test_the_first_line_is_the_answer(self):
        self.assertIn("Fits", run(*PLAN).stdout.splitlines()[0])
        first = run(*TOO_BIG).stdout.splitlines()[0]
        self.assertTrue("refuses" in first or "Does not" in first, first)

    def test_colour(self):
        self.assertNotIn("\x1b", run(*PLAN).stdout)
        self.assertIn("\x1b", run(*PLAN, "--color", "always").stdout)
        self.assertIn("\x1b", run(*PLAN, env={"FORCE_COLOR": "1"}).stdout)
        self.assertNotIn("\x1b", run(*PLAN, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout)
        self.assertNotIn("\x1b", run(*PLAN, "--color", "never", env={"FORCE_COLOR": "1"}).stdout)

    def test_width(self):
        # Commands, option names and tables are never broken; prose keeps the width.
        for width in (40, 80):
            for question in (PLAN, TOO_BIG, ("inspect", "deepseek-v3")):
                for line in run(*question, "--width", str(width)).stdout.splitlines():
                    words = line.split()
                    unbreakable = line.strip().startswith(("-", "vllm ", "(")) or any(len(w) > width - 6 for w in words)
                    column = width == 40 and re.search(r"\S {2,}\S", line)
                    if not unbreakable and not column:
                        self.assertLessEqual(len(line), width, line)

    def test_ascii(self):
        for locale in ("C", "en_US.UTF-8"):
            run(*PLAN, "--ascii", env={"LC_ALL": locale}).stdout.encode("ascii")
        run(*PLAN, env={"LC_ALL": "C"}).stdout.encode("ascii")

    def test_terminal_escapes_in_names_are_harmless(self):
        result = run("plan", "evil\x1b[2Jname", "--gpu", "h100-sxm")
        self.assertNotIn("\x1b", result.stdout + result.stderr)


class Requests(unittest.TestCase):
    def test_flags_and_their_request_answer_the_same(self):
        request = run(*PLAN, "--print-request").stdout
        by_flags = json.loads(run(*PLAN, "--json").stdout)
        by_request = json.loads(run("plan", "--request", "-", "--json", text=request).stdout)
        self.assertEqual(by_flags, by_request)

    def test_batch_keeps_order_and_goes_on_after_errors(self):
        lines = [{"id": i, "model": {"ref": "llama-3.1-8b" if i != 1 else "no-such-model-at-all"}, "hardware": {"gpu": "h100-sxm"}}
                 for i in range(4)]
        text = "\n".join(json.dumps(line) for line in lines[:2]) + "\nnot json\n\n" + "\n".join(json.dumps(line) for line in lines[2:])
        result = run("batch", "-", text=text)
        answers = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual(result.returncode, 3)
        self.assertEqual([a.get("id") for a in answers], [0, 1, None, 2, 3])
        self.assertEqual([("error" in a) for a in answers], [False, True, True, False, False])

    def test_batch_without_errors(self):
        result = run("batch", "-", text=json.dumps({"model": {"ref": "qwen3-8b"}, "hardware": {"gpu": "l4"}}))
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_compare(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for dtype in ("auto", "fp8"):
                paths.append(os.path.join(folder, dtype + ".json"))
                with open(paths[-1], "w", encoding="utf-8") as file:
                    json.dump({"model": {"ref": "qwen3-8b"}, "hardware": {"gpu": "l40s"},
                               "engine": {"options": {"kv_cache_dtype": dtype}}}, file)
            answer = json.loads(run("compare", *paths, "--json").stdout)["compare"]
            self.assertEqual(answer["a"]["kv"]["bytes_per_token"], 2 * answer["b"]["kv"]["bytes_per_token"])
            self.assertIn("difference", run("compare", *paths).stdout)
            self.assertEqual(run("compare", paths[0], os.path.join(folder, "none.json")).returncode, 4)

    def test_python_program_as_one_argument(self):
        program = "from vllm import LLM; LLM('Qwen/Qwen3-8B', max_model_len=8192)"
        answer = json.loads(run("launch", "--json", "--", "python", "-c", program).stdout)["launch"]
        self.assertEqual((answer["model"], answer["options"]), ("Qwen/Qwen3-8B", {"max_model_len": 8192}))

    def test_launch_line(self):
        answer = json.loads(run("plan", "--gpu", "h100-sxm", "--json", "--", "vllm", "serve", "Qwen/Qwen3-8B",
                                "--max-model-len", "32768", "--kv-cache-dtype", "fp8").stdout)
        self.assertEqual(answer["model"]["id"], "Qwen/Qwen3-8B")
        self.assertEqual(answer["engine"]["options"]["max_model_len"], 32768)
        self.assertEqual(answer["kv"]["bytes_per_token"], 73728)

    def test_totals_are_sums_of_rows(self):
        for question in (PLAN, TOO_BIG, ("plan", "qwen3-30b-a3b", "--engine", "llama.cpp", "--weights", "Q4_K_M", "--gpu", "rtx-4090")):
            answer = json.loads(run(*question, "--json").stdout)
            if not answer.get("ledger"):
                continue
            device = max(answer["devices"], key=lambda d: -d["free_bytes"])["index"]
            rows = [r for r in answer["ledger"] if r["device"] == device]
            self.assertEqual(sum(r["bytes"] for r in rows), answer["totals"]["total_bytes"])
            for part in ("weights", "kv_cache", "activations", "runtime"):
                self.assertEqual(sum(r["bytes"] for r in rows if r["component"] == part), answer["totals"][part + "_bytes"])


if __name__ == "__main__":
    unittest.main()
