"""`compare A B`: models, quoted words of `plan`, requests and plan files as sides."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

VRAMWISE = os.path.abspath(os.environ.get("VRAMWISE", "build/release/bin/vramwise"))


def run(*arguments):
    return subprocess.run([VRAMWISE, *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, LC_ALL="C.UTF-8"))


def answer(*arguments):
    return json.loads(run(*arguments, "--json").stdout)


class Compare(unittest.TestCase):
    def test_two_models_with_flags_for_both(self):
        block = answer("compare", "Qwen/Qwen3-8B", "Qwen/Qwen3-14B", "--gpu", "l40s", "--ctx", "8k")["compare"]
        for side, model in (("a", "Qwen/Qwen3-8B"), ("b", "Qwen/Qwen3-14B")):
            alone = answer("plan", model, "--gpu", "l40s", "--ctx", "8k")
            self.assertEqual((block[side]["totals"], block[side]["users"]), (alone["totals"], alone["users"]))

    def test_words_of_a_side_win_over_the_flags_of_both(self):
        block = answer("compare", "Qwen/Qwen3-8B --gpu l40s", "Qwen/Qwen3-8B --weights fp8", "--gpu", "h100-sxm")["compare"]
        self.assertEqual([block[s]["devices"][0]["gpu"] for s in "ab"], ["l40s", "h100-sxm"])
        self.assertEqual(block["b"]["model"]["weights"], "fp8")

    def test_files_and_words_together(self):
        with tempfile.TemporaryDirectory() as folder:
            saved = pathlib.Path(folder) / "plan.json"
            run("plan", "Qwen/Qwen3-8B", "--gpu", "l40s", "--save", saved)
            bare = pathlib.Path(folder) / "request.json"
            bare.write_text(run("plan", "Qwen/Qwen3-8B", "--gpu", "l40s", "--print-request").stdout)
            block = answer("compare", saved, bare)["compare"]
            self.assertEqual(block["a"]["totals"], block["b"]["totals"])
            # A request takes the flags, a saved answer stays.
            block = answer("compare", saved, bare, "--gpu", "h100-sxm")["compare"]
            self.assertEqual([block[s]["devices"][0]["gpu"] for s in "ab"], ["l40s", "h100-sxm"])

    def test_the_columns_are_named_by_what_differs(self):
        table = run("compare", "Qwen/Qwen3-8B --gpu l40s", "Qwen/Qwen3-8B --gpu h100-sxm", "--width", "80").stdout
        self.assertRegex(table, r"\n +l40s +h100-sxm +difference\n")
        self.assertTrue(all(len(line) <= 80 for line in table.splitlines()))

    def test_faults_say_what_a_side_is(self):
        for sides, code, words in ((["Qwen/Qwen3-8B"], 2, "two sides"), (["Qwen/Qwen3-8B --foo", "Qwen/Qwen3-8B"], 3, "--foo"),
                                   (["Qwen/Qwen3-8B", "Qwen/Qwen3-8B --gpu h20O-sxm"], 4, "h200-sxm")):
            result = run("compare", *sides, "--gpu", "l40s")
            self.assertEqual((result.returncode, result.stdout), (code, ""))
            self.assertIn(words, result.stderr)
            self.assertIn("help:", result.stderr)


if __name__ == "__main__":
    unittest.main()
