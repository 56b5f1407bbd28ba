"""`vramwise verify`: logs in our own words, read from files and pipes, beside their plans."""
import json
import os
import subprocess
import tempfile
import time
import unittest

VRAMWISE = os.environ.get("VRAMWISE", "build/release/bin/vramwise")
LOGS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "logs")


def run(*arguments, text=""):
    return subprocess.run([VRAMWISE, *arguments], input=text, capture_output=True, text=True, timeout=60)


def answer(*arguments, text=""):
    result = run(*arguments, "--json", text=text)
    return result.returncode, json.loads(result.stdout)


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


if __name__ == "__main__":
    unittest.main()
