#!/usr/bin/env python3
"""The finished program against a hub on loopback, with everything that can go wrong on the way."""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
import model_bytes as m  # noqa: E402
from test_hub import COMMIT, Fault, Sparse, TestHub  # noqa: E402

VRAMWISE = os.environ["VRAMWISE"]
TOKEN = "hf_SecretSecretSecret"


class HubCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hub = TestHub()
        head, size = m.llama_gguf(weight="Q8_0")
        cls.gguf = Sparse(head, size)
        other, other_size = m.llama_gguf(weight="F16")
        # As large as a real header, in a file of 40 GB and more.
        large, large_size = m.llama_gguf(layers=40, hidden=8192, heads=64, kv_heads=8, ffn=28672, vocabulary=128256,
                                         weight="F16", tokens=300_000)
        cls.large = Sparse(large, large_size)
        cls.hub.add("org/quants-GGUF", {"README.md": b"#", "model-Q8_0.gguf": cls.gguf,
                                        "model-F16.gguf": Sparse(other, other_size),
                                        "mmproj-F16.gguf": Sparse(other, other_size)})
        cls.hub.add("org/large-GGUF", {"large-F16.gguf": cls.large})
        tensors = m.llama_tensors()
        shard, shard_size = m.safetensors(tensors)
        cls.shard_bytes = shard_size - len(shard)
        cls.hub.add("org/checkpoint", {"config.json": json.dumps(m.llama_config()).encode(),
                                       "model.safetensors": Sparse(shard, shard_size)})
        cls.hub.add("org/gated", {"model-Q8_0.gguf": cls.gguf}, gated=True, token=TOKEN)

    @classmethod
    def tearDownClass(cls):
        cls.hub.close()

    def setUp(self):
        self.hub.forget()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.at = Path(self.folder.name)

    def environment(self, **more):
        return {"PATH": os.environ["PATH"], "HOME": str(self.at / "home"), "XDG_CACHE_HOME": str(self.at / "cache"),
                "HF_HUB_DOWNLOAD_TIMEOUT": "2", **self.hub.environment(), **more}

    def run_it(self, *arguments, **env):
        done = subprocess.run([VRAMWISE, *map(str, arguments), "--json"], capture_output=True, text=True,
                              env=self.environment(**env), timeout=120)
        # Whatever happens: no token where people could read it.
        self.assertNotIn(TOKEN, done.stdout + done.stderr)
        self.assertNotIn("signature=secret", done.stdout + done.stderr)
        return done

    def answer(self, *arguments, status=0, **env):
        done = self.run_it(*arguments, **env)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def inspect(self, name, *arguments, status=0, **env):
        return self.answer("inspect", name, *arguments, status=status, **env)

    def paths(self, server=None):
        return [path for role, _, path, _ in self.hub.requests if server in (None, role)]


class Reading(HubCase):
    def test_gguf_by_label(self):
        answer = self.inspect("org/quants-GGUF:q8_0")
        self.assertEqual(answer["model"]["parameters"], m.LLAMA_PARAMETERS)
        self.assertEqual(answer["model"]["weights"], "Q8_0")
        self.assertEqual(answer["model"]["id"], "org/quants-GGUF:q8_0")
        self.assertEqual(answer["inspect"]["file"]["expected_bytes"], self.gguf.size)

    def test_several_are_listed(self):
        answer = self.inspect("org/quants-GGUF", status=3)
        self.assertIn("F16, Q8_0", " ".join(answer["error"]["hints"]))
        self.assertEqual(self.inspect("org/quants-GGUF", "--file", "model-F16.gguf")["model"]["weights"], "F16")
        answer = self.inspect("org/quants-GGUF:Q2_K", status=4)
        self.assertIn("Q8_0", " ".join(answer["error"]["hints"]))

    def test_checkpoint(self):
        answer = self.inspect("hf:org/checkpoint")
        self.assertEqual(answer["model"]["parameters"], m.LLAMA_PARAMETERS)
        self.assertEqual(answer["model"]["tensor_bytes"], self.shard_bytes)

    def test_plan(self):
        answer = self.answer("plan", "hf:org/checkpoint", "--gpu", "h100-sxm", "--ctx", "2048")
        self.assertEqual(answer["outcome"], "fits")

    def test_modelscope(self):
        self.assertEqual(self.inspect("ms:org/checkpoint")["model"]["parameters"], m.LLAMA_PARAMETERS)

    def test_address(self):
        url = self.hub.url() + "/org/quants-GGUF/resolve/main/model-F16.gguf"
        self.assertEqual(self.inspect(url)["model"]["weights"], "F16")

    def test_large_header_takes_two_requests_and_little_memory(self):
        self.assertGreater(len(self.large.head), 6_000_000)
        self.assertGreater(self.large.size, 40e9)
        self.inspect("org/large-GGUF")
        self.assertLessEqual(len(self.paths("cdn")), 2)
        script = ("import resource,subprocess,sys;subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL,check=True);"
                  "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        done = subprocess.run([sys.executable, "-c", script, VRAMWISE, "inspect", "org/large-GGUF", "--json"],
                              capture_output=True, text=True, check=True,
                              env=self.environment(XDG_CACHE_HOME=str(self.at / "other")))
        self.assertLessEqual(int(done.stdout), 64 * 1024)

    def test_remembered(self):
        self.inspect("org/quants-GGUF:Q8_0")
        before = len(self.paths())
        self.inspect("org/quants-GGUF:Q8_0")
        # The second time only the list is asked for: the branch may have moved.
        self.assertEqual(len(self.paths()) - before, 1)
        self.hub.forget()
        self.inspect("org/quants-GGUF:Q8_0", "--offline")
        self.inspect("org/quants-GGUF:Q8_0", HF_HUB_OFFLINE="1")
        self.assertEqual(self.paths(), [])
        answer = self.inspect("org/quants-GGUF:F16", "--offline", status=4)
        self.assertIn("not cached", answer["error"]["message"])

    def test_commit_needs_no_second_question(self):
        self.inspect("org/quants-GGUF:Q8_0", "--revision", COMMIT)
        self.hub.forget()
        self.inspect("org/quants-GGUF:Q8_0", "--revision", COMMIT)
        self.assertEqual(self.paths(), [])

    def test_two_processes_and_damaged_entries(self):
        command = [VRAMWISE, "inspect", "org/quants-GGUF:Q8_0", "--json"]
        both = [subprocess.Popen(command, stdout=subprocess.PIPE, env=self.environment()) for _ in range(4)]
        for process in both:
            out, _ = process.communicate(timeout=60)
            self.assertEqual(json.loads(out)["model"]["parameters"], m.LLAMA_PARAMETERS)
        entries = list((self.at / "cache/vramwise/heads").iterdir())
        self.assertFalse([e for e in entries if e.suffix == ".tmp"])
        for entry in entries:
            data = bytearray(entry.read_bytes())
            data[len(data) // 2] ^= 1
            entry.write_bytes(data)
        self.assertEqual(self.inspect("org/quants-GGUF:Q8_0")["model"]["parameters"], m.LLAMA_PARAMETERS)

    def test_local_hub_cache_first(self):
        snapshot = self.at / "hf/hub/models--org--local/snapshots" / COMMIT
        snapshot.mkdir(parents=True)
        (snapshot.parent.parent / "refs").mkdir()
        (snapshot.parent.parent / "refs/main").write_text(COMMIT)
        m.write_sparse(snapshot / "x-Q8_0.gguf", self.gguf.head, self.gguf.size)
        answer = self.inspect("org/local", HF_HOME=str(self.at / "hf"))
        self.assertEqual(answer["model"]["parameters"], m.LLAMA_PARAMETERS)
        self.inspect("org/local", HF_HUB_CACHE=str(self.at / "hf/hub"))
        self.assertEqual(self.paths(), [])

    def test_catalog_names_ask_nobody(self):
        self.inspect("Qwen/Qwen3-8B")
        self.inspect("qwen3-8b")
        self.assertEqual(self.paths(), [])

    def test_ollama_registry(self):
        self.hub.add_ollama("library/tiny", "8b", self.gguf)
        name = f"ollama:{self.hub.url().split('//')[1]}/library/tiny:8b"
        self.assertEqual(self.inspect(name)["model"]["parameters"], m.LLAMA_PARAMETERS)
        self.assertIn("9b", self.inspect(name.replace("8b", "9b"), status=4)["error"]["message"])
        self.inspect(name, "--offline", status=4)


class Tokens(HubCase):
    def test_does_not_follow_to_another_host(self):
        self.inspect("org/gated", HF_TOKEN=TOKEN)
        authorised = {role for role, _, _, headers in self.hub.requests if "Authorization" in headers}
        self.assertEqual(authorised, {"hub"})
        self.assertTrue(self.paths("cdn"))
        for path in (self.at / "cache").rglob("*"):
            if path.is_file():
                self.assertNotIn(TOKEN.encode(), path.read_bytes())
        self.assertFalse([p for p in self.paths() if TOKEN in p])

    def test_every_place_of_a_token(self):
        places = self.at / "places"
        places.mkdir()
        (places / "token").write_text(TOKEN + "\n")
        for env in ({"HUGGING_FACE_HUB_TOKEN": TOKEN}, {"HF_HOME": str(places)},
                    {"HF_TOKEN_PATH": str(places / "token")}):
            with self.subTest(env):
                self.inspect("org/gated", XDG_CACHE_HOME=str(self.at / str(len(env["HF_HOME"]) if "HF_HOME" in env else 0)),
                             **env)
        self.inspect("org/gated", status=3, HF_HOME=str(places), HF_HUB_DISABLE_IMPLICIT_TOKEN="1",
                     XDG_CACHE_HOME=str(self.at / "none"))

    def test_gated_missing_and_revision(self):
        answer = self.inspect("org/gated", status=3)
        self.assertIn("licence", " ".join(answer["error"]["hints"]))
        answer = self.inspect("org/not-there", status=4)
        self.assertIn("token", " ".join(answer["error"]["hints"]))
        answer = self.inspect("org/quants-GGUF:Q8_0", "--revision", "v9", status=4)
        self.assertIn("v9", answer["error"]["message"])

    def test_broken_token(self):
        self.inspect("org/gated", status=3, HF_TOKEN="two\r\nlines: x")


class Faults(HubCase):
    NAME = "org/quants-GGUF:Q8_0"
    FILE = "/blob/org/quants-GGUF/model-Q8_0.gguf"

    def works_with(self, path, fault, name=None):
        self.hub.fault(path, fault)
        answer = self.inspect(name or self.NAME)
        self.assertGreater(answer["model"]["parameters"], 0)

    def fails_with(self, path, fault, *expected):
        self.hub.fault(path, fault)
        started = time.monotonic()
        answer = self.inspect(self.NAME, status=3)
        self.assertLess(time.monotonic() - started, 45)
        for text in expected:
            self.assertIn(text, json.dumps(answer["error"]))

    def test_cut_bodies_are_resumed(self):
        self.works_with("/blob/org/large", Fault("cut", after=700_000, times=3), "org/large-GGUF")
        offsets = [h["Range"] for r, _, p, h in self.hub.requests if r == "cdn"]
        self.assertTrue(any(o.startswith("bytes=700000-") for o in offsets), offsets)

    def test_cut_for_ever(self):
        self.fails_with(self.FILE, Fault("cut", after=0))

    def test_ignored_range(self):
        self.works_with("/blob/org/large", Fault("ignore_range"), "org/large-GGUF")

    def test_gzip_although_not_asked(self):
        head, _ = m.llama_gguf(layers=1, hidden=256, heads=4, kv_heads=4, ffn=256, vocabulary=32)
        self.hub.add("org/zipped", {"x.gguf": head})
        self.works_with("/blob/org/zipped", Fault("gzip"), "org/zipped")

    def test_passing_faults(self):
        for code in (429, 500, 502, 503, 504):
            with self.subTest(code):
                self.hub.forget()
                self.works_with(self.FILE, Fault("status", code=code, retry_after="0", times=2))
                (self.at / "cache/vramwise/heads").rename(self.at / f"was-{code}")
        self.hub.forget()
        self.works_with("/api/models/", Fault("status", code=503, times=1))

    def test_retry_after_is_waited_for(self):
        started = time.monotonic()
        self.works_with(self.FILE, Fault("status", code=429, retry_after="2", times=1))
        self.assertGreaterEqual(time.monotonic() - started, 2)
        self.hub.forget()
        (self.at / "cache/vramwise/heads").rename(self.at / "was")
        self.fails_with(self.FILE, Fault("status", code=429, retry_after="3600"), "3600", "HF_TOKEN")

    def test_lasting_faults(self):
        self.fails_with(self.FILE, Fault("status", code=500), "500")

    def test_lies_about_sizes(self):
        self.fails_with(self.FILE, Fault("wrong_start"), "bytes from")
        self.hub.forget()
        self.fails_with(self.FILE, Fault("wrong_total"), "announced")
        # More announced than there is: what was asked for has come all the same.
        self.hub.forget()
        self.works_with("/blob/org/quants", Fault("long_length"))

    def test_slow_drip(self):
        self.fails_with(self.FILE, Fault("drip"))

    def test_redirects(self):
        self.fails_with("/resolve/", Fault("loop"), "redirects too often")
        self.hub.forget()
        self.fails_with("/resolve/", Fault("redirect", to="file:///etc/passwd"), "no usable address")

    def test_nobody_there(self):
        answer = self.inspect(self.NAME, status=3, HF_ENDPOINT="http://127.0.0.1:9")
        self.assertIn("--offline", " ".join(answer["error"]["hints"]))


if __name__ == "__main__":
    unittest.main(verbosity=1)
