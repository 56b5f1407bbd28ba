#!/usr/bin/env python3
"""`plan`, `verify` and `loadtest` against the real llama.cpp, which an npm package ships ready built, with a model
of half a megabyte. Left out, and said so, only where that package cannot be installed."""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "support"))
import llama_server  # noqa: E402
import tiny_llama  # noqa: E402

VRAMWISE = os.environ.get("VRAMWISE", "build/release/bin/vramwise")
CONTEXT, BATCH = 2048, 512


def library():
    """The folder of the library, installed where it is missing; else why there is none."""
    folder = llama_server.binaries_folder()
    if folder:
        return folder, ""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return None, "llama.cpp comes ready built for Linux on x86-64 only"
    if not shutil.which("npm"):
        return None, "no npm here to install @node-llama-cpp/linux-x64 with (./dev setup)"
    try:
        done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=ROOT / "llama",
                              capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return None, "npm did not answer within five minutes"
    folder = llama_server.binaries_folder()
    return folder, "" if folder else "npm installed no @node-llama-cpp/linux-x64: " + done.stderr.strip()[-300:]


class RealServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder, why = library()
        if not folder:
            raise unittest.SkipTest(why)
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.model = Path(cls.folder.name) / "tiny-F16.gguf"
        tiny_llama.write(cls.model)
        cls.llama = llama_server.Llama(folder, cls.model, n_ctx=CONTEXT, n_batch=BATCH)
        cls.log = "".join(cls.llama.log)  # of one load and one context
        cls.server = llama_server.Server(cls.llama)
        cls.addClassCleanup(cls.server.shutdown)

    def run_it(self, *arguments, text=None, timeout=120):
        return subprocess.run([VRAMWISE, *map(str, arguments)], input=text, capture_output=True, text=True,
                              timeout=timeout)

    LINE = ("--", "llama-server", "-m", "tiny-F16.gguf", "-c", str(CONTEXT), "-np", "1", "-b", str(BATCH))

    def test_its_buffers_are_those_of_the_plan(self):
        """Cache, compute and output buffers as llama.cpp itself prints them: to the printed digit."""
        done = self.run_it("verify", "-", self.model, "--gpu", "none", "--json", *self.LINE, text=self.log)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = {row["line"]: row for row in json.loads(done.stdout)["verify"]["rows"]}
        for line in ("CPU KV buffer size", "CPU compute buffer size", "n_ctx", "n_batch", "n_ubatch"):
            self.assertIn(line, rows)
            self.assertTrue(rows[line]["exact"], rows[line])
        self.assertAlmostEqual(rows["CPU KV buffer size"]["logged"], CONTEXT * 2 * 2 * 32 * 2, delta=5300)

    def test_a_load_is_held(self):
        done = self.run_it("loadtest", self.server.url, self.model, "--gpu", "none", "--users", 2, "--prompt-tokens", "20-60",
                           "--output-tokens", "4-8", "--ramp", 0.5, "--hold", 5, "--drain", 20, "--quiet", "--json",
                           *self.LINE)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
        found = json.loads(done.stdout)["loadtest"]
        self.assertEqual(found["requests"]["errors"], 0)
        self.assertGreater(found["requests"]["good"], 2)
        # Lengths are asked for in the server's own tokens, which are letters here.
        self.assertTrue(found["lengths"]["counted_by_server"])
        self.assertAlmostEqual(found["lengths"]["prompt_tokens_mean"], 40, delta=15)
        self.assertGreater(self.server.answered, 2)

    def test_more_than_its_context_is_an_error_and_no_hang(self):
        done = self.run_it("loadtest", self.server.url, "--users", 1, "--prompt-tokens", 5000, "--output-tokens", 8,
                           "--ramp", 0.1, "--hold", 2, "--drain", 2, "--quiet", "--json")
        self.assertEqual(done.returncode, 1, done.stdout[-2000:] + done.stderr)
        self.assertGreater(json.loads(done.stdout)["loadtest"]["requests"]["errors"], 0)


if __name__ == "__main__":
    unittest.main()
