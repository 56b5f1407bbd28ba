"""Plan files: saved, checked again in a pipeline, and set beside each other."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

VRAMWISE = os.environ.get("VRAMWISE", "build/release/bin/vramwise")
QUESTION = ("qwen3-8b", "--gpu", "h100-sxm", "--ctx", "8k", "--concurrency", "4")


def run(*arguments):
    return subprocess.run([VRAMWISE, *map(str, arguments)], capture_output=True, text=True, timeout=60)


class PlanFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.at = pathlib.Path(folder.name)

    def save(self, name, *arguments):
        result = run("plan", *arguments, "--save", self.at / name)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return self.at / name

    def change(self, path, edit):
        file = json.loads(path.read_text(encoding="utf-8"))
        edit(file)
        path.write_text(json.dumps(file), encoding="utf-8")

    def test_a_saved_plan_holds_question_and_answer(self):
        path = self.save("plan.json", *QUESTION)
        file = json.loads(path.read_text(encoding="utf-8"))
        self.assertEqual(file["vramwise_plan"], 1)
        self.assertEqual(file["answer"], json.loads(run("plan", *QUESTION, "--json").stdout))
        self.assertEqual([p.name for p in self.at.iterdir()], ["plan.json"])
        # The request alone asks the same.
        (self.at / "request.json").write_text(json.dumps(file["request"]), encoding="utf-8")
        again = json.loads(run("plan", "--request", self.at / "request.json", "--json").stdout)
        self.assertEqual(again, file["answer"])

    def test_check_is_an_exit_status(self):
        good = self.save("good.json", *QUESTION)
        bad = self.save("bad.json", "llama-3.1-70b", "--weights", "bf16", "--gpu", "rtx-4090")
        self.assertEqual(run("check", good).returncode, 0)
        self.assertEqual(run("check", bad).returncode, 1)
        self.assertEqual(run("check", good, bad).returncode, 1)
        self.assertEqual(run("check", bad, "--exit-zero").returncode, 0)
        answer = json.loads(run("check", good, bad, "--json").stdout)
        self.assertEqual([item["pass"] for item in answer["check"]], [True, False])

    def test_tight_passes_unless_it_must_not(self):
        # A card that holds the likely bytes and not the pessimistic ones.
        plan = json.loads(run("plan", *QUESTION, "--json").stdout)
        total = plan["readings"]["reserve"]["total_bytes"]
        for extra in range(0, 4 << 30, 1 << 26):
            answer = json.loads(run("plan", "qwen3-8b", "--engine", "llama.cpp", "--weights", "Q4_K_M", "--total",
                                    str((5 << 30) + extra), "--ctx", "8k", "--option", "n_gpu_layers=99", "--json").stdout)
            if answer["outcome"] == "tight":
                break
        else:
            self.fail(f"no tight plan was found below {total}")
        path = self.save("tight.json", "qwen3-8b", "--engine", "llama.cpp", "--weights", "Q4_K_M", "--total",
                         str((5 << 30) + extra), "--ctx", "8k", "--option", "n_gpu_layers=99")
        self.assertEqual(run("check", path).returncode, 0)
        self.assertEqual(run("check", path, "--no-tight").returncode, 1)

    def test_growth_since_it_was_saved(self):
        path = self.save("plan.json", *QUESTION)

        def smaller(file):
            totals = file["answer"]["totals"]
            totals["total_bytes"] = totals["total_bytes"] * 10 // 11
        self.change(path, smaller)
        result = run("check", path)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(" ".join(result.stdout.split()), r"the total grew by [0-9.]+ GiB to 73.45 GiB")
        self.assertEqual(run("check", path, "--max-growth", "9").returncode, 1)
        self.assertEqual(run("check", path, "--max-growth", "11").returncode, 0)

    def test_diff_of_two_plan_files_says_what_moves(self):
        a = self.save("a.json", *QUESTION)
        b = self.save("b.json", *QUESTION, "--option", "kv_cache_dtype=fp8", "--option", "max_num_seqs=64")
        answer = json.loads(run("diff", a, b, "--json").stdout)["compare"]
        moved = {(row["component"], row["item"]): row["difference_bytes"] for row in answer["rows"]}
        self.assertEqual(sum(moved.values()), answer["difference"]["total_bytes"])
        self.assertTrue(moved)
        self.assertEqual({o["option"] for o in answer["options"]}, {"kv_cache_dtype", "max_num_seqs"})
        text = run("diff", a, b).stdout
        self.assertIn("kv_cache_dtype: bfloat16 -> fp8", text.replace("auto", "bfloat16"))
        # The other way round everything changes its sign.
        back = json.loads(run("diff", b, a, "--json").stdout)["compare"]
        self.assertEqual({k: -v for k, v in moved.items()},
                         {(r["component"], r["item"]): r["difference_bytes"] for r in back["rows"]})

    def test_diff_with_itself_is_nothing(self):
        a = self.save("a.json", *QUESTION)
        for arguments in ((a, a), (a,)):
            answer = json.loads(run("diff", *arguments, "--json").stdout)["compare"]
            self.assertEqual((answer["rows"], answer["options"], answer["only_a"], answer["only_b"]), ([], [], [], []))

    def test_diff_of_engine_versions(self):
        answer = json.loads(run("diff", *QUESTION, "--engine-version", "0.9", "0.31", "--json").stdout)["compare"]
        self.assertEqual([answer[side]["engine"]["version"] for side in "ab"], ["0.9", "0.31"])
        self.assertIn({"option": "gpu_memory_utilization", "a": 0.9, "b": 0.92}, answer["options"])
        self.assertIn("CUDA graphs (estimate)", {row["item"] for row in answer["rows"]})
        # The same out of a plan file, and through one version at a time.
        path = self.save("plan.json", *QUESTION)
        self.assertEqual(json.loads(run("diff", path, "--engine-version", "0.9", "0.31", "--json").stdout)["compare"]["rows"],
                         answer["rows"])

    def test_what_is_no_plan_says_so(self):
        (self.at / "list.json").write_text("[]", encoding="utf-8")
        (self.at / "other.json").write_text('{"a": 1}', encoding="utf-8")
        (self.at / "newer.json").write_text('{"vramwise_plan": 2, "request": {}}', encoding="utf-8")
        (self.at / "empty.json").write_text('{"vramwise_plan": 1}', encoding="utf-8")
        (self.at / "cut.json").write_text('{"vramwise_plan": 1, "requ', encoding="utf-8")
        for name in ("list.json", "other.json", "newer.json", "empty.json", "cut.json"):
            result = run("check", self.at / name)
            self.assertEqual((result.returncode, result.stdout), (3, ""), name)
            self.assertIn(name, result.stderr)
        self.assertEqual(run("check", self.at / "nowhere.json").returncode, 4)
        result = run("plan", *QUESTION, "--save", self.at / "no" / "folder.json")
        self.assertEqual(result.returncode, 3)
        self.assertIn("cannot be written", result.stderr)
        self.assertEqual(run("diff", "qwen3-8b").returncode, 2)
        self.assertEqual(run("diff", *QUESTION[:1], "qwen3-4b", "--engine-version", "0.9", "0.10").returncode, 2)


if __name__ == "__main__":
    unittest.main()
