#!/usr/bin/env python3
"""The finished program on local files: GGUF, safetensors, folders, the Ollama store."""

import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
import model_bytes as m  # noqa: E402

VRAMWISE = os.environ["VRAMWISE"]


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.at = Path(self.folder.name)

    def run_it(self, *arguments, env=None):
        base = {"PATH": os.environ["PATH"], "HOME": str(self.at / "home"), "HF_HUB_OFFLINE": "1", **(env or {})}
        done = subprocess.run([VRAMWISE, *map(str, arguments)], capture_output=True, text=True, env=base, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def answer(self, *arguments, status=0, env=None):
        code, out, err = self.run_it(*arguments, "--json", env=env)
        self.assertEqual(code, status, out + err)
        return json.loads(out)

    def write_gguf(self, name="model-Q8_0.gguf", **options):
        head, size = m.llama_gguf(**options)
        m.write_sparse(self.at / name, head, size)
        return self.at / name, head, size

    def write_checkpoint(self, folder="checkpoint", config=None, dtype="BF16"):
        place = self.at / folder
        place.mkdir()
        (place / "config.json").write_text(json.dumps(config or m.llama_config()))
        tensors = m.llama_tensors(dtype=dtype)
        names = list(tensors)
        weight_map, total = {}, 0
        for i, part in enumerate((names[:20], names[20:]), 1):
            name = f"model-{i:05d}-of-00002.safetensors"
            head, size = m.safetensors({n: tensors[n] for n in part})
            m.write_sparse(place / name, head, size)
            total += size - len(head)
            weight_map |= {n: name for n in part}
        index = {"metadata": {"total_size": total}, "weight_map": weight_map}
        (place / "model.safetensors.index.json").write_text(json.dumps(index))
        return place, total

    # ---- GGUF
    def test_gguf_inspect(self):
        path, head, size = self.write_gguf()
        answer = self.answer("inspect", path)
        self.assertEqual(answer["model"]["parameters"], m.LLAMA_PARAMETERS)
        self.assertEqual(answer["model"]["architecture"], "llama")
        self.assertEqual(answer["model"]["weights"], "Q8_0")
        self.assertEqual(answer["inspect"]["file"]["expected_bytes"], size)
        self.assertTrue(answer["inspect"]["file"]["complete"])
        self.assertEqual(answer["model"]["kv_bytes_per_token"], 4 * 2 * 2 * 64 * 2)
        self.assertEqual(sum(g["bytes"] for g in answer["inspect"]["tensors_by_role"]), answer["model"]["tensor_bytes"])
        self.assertNotIn("tensors", answer["inspect"])
        listed = self.answer("inspect", path, "--tensors")["inspect"]["tensors"]
        self.assertEqual(len(listed), 3 + 4 * 9)
        self.assertEqual(listed[0]["name"], "token_embd.weight")

    def test_gguf_and_config_agree(self):
        path, *_ = self.write_gguf(weight="F16")
        config = self.at / "config.json"
        config.write_text(json.dumps(m.llama_config(torch_dtype="float16")))
        for engine in ("llama.cpp",):
            machine = ("--gpu", "rtx-4090", "--engine", engine, "--ctx", "4096", "--concurrency", "2")
            a = self.answer("plan", path, *machine)
            b = self.answer("plan", config, "--weights", "F16", *machine)
            for part in ("buffers", "totals", "outcome", "kv"):
                self.assertEqual(a[part], b[part], part)
            for part in ("parameters", "active_parameters", "kv_bytes_per_token", "tensor_bytes", "cache"):
                self.assertEqual(a["model"][part], b["model"][part], part)

    def test_gguf_is_planned_for_an_engine_that_loads_it(self):
        path, *_ = self.write_gguf()
        self.assertEqual(self.answer("plan", path, "--gpu", "rtx-4090")["engine"]["name"], "llama.cpp")

    def test_a_line_that_serves_a_file_is_planned_from_it(self):
        path, head, size = self.write_gguf("served.gguf")
        (self.at / "home").mkdir()
        path.rename(self.at / "home" / "served.gguf")
        for name in (str(self.at / "home" / "served.gguf"), "~/served.gguf"):
            (self.at / "serve.sh").write_text(f"llama-server -m {name} -c 2048 -np 1\n")
            answer = self.answer("plan", "--gpu", "rtx-3090", "--line", self.at / "serve.sh")
            self.assertEqual(answer["model"]["tensor_bytes"], size - len(head))
            self.assertEqual(answer["kv"]["max_sequence_tokens"], 2048)
        # A file that is not here is a name.
        code, _, err = self.run_it("plan", "--gpu", "rtx-3090", "--", "llama-server -m ./nowhere.gguf")
        self.assertEqual(code, 4, err)

    def test_split_gguf_by_any_part(self):
        metadata = {"general.architecture": "llama", "llama.block_count": 1, "llama.embedding_length": 512,
                    "llama.context_length": 512, "llama.attention.head_count": 8, "llama.vocab_size": 100,
                    "llama.attention.layer_norm_rms_epsilon": 1e-5}
        sizes = 0
        for number, tensors in enumerate(([("token_embd.weight", [512, 100], "F16")],
                                          [("blk.0.attn_q.weight", [512, 512], "F16"),
                                           ("blk.0.attn_k.weight", [512, 512], "F16"),
                                           ("blk.0.attn_v.weight", [512, 512], "F16"),
                                           ("blk.0.attn_output.weight", [512, 512], "F16")])):
            keys = dict(metadata) if number == 0 else {}
            keys |= {"split.no": number, "split.count": 2, "split.tensors.count": 5}
            head, size = m.gguf(keys, tensors)
            m.write_sparse(self.at / f"x-{number + 1:05d}-of-00002.gguf", head, size)
            sizes += size
        for part in ("x-00001-of-00002.gguf", "x-00002-of-00002.gguf"):
            answer = self.answer("inspect", self.at / part)
            self.assertEqual(answer["model"]["parameters"], 512 * 100 + 4 * 512 * 512)
            self.assertEqual(answer["inspect"]["file"]["expected_bytes"], sizes)
        (self.at / "x-00002-of-00002.gguf").unlink()
        answer = self.answer("inspect", self.at / "x-00001-of-00002.gguf", status=4)
        self.assertIn("split", answer["error"]["message"])

    def test_incomplete_gguf_is_planned_with_a_warning(self):
        head, size = m.llama_gguf()
        m.write_sparse(self.at / "cut.gguf", head, size // 2)
        answer = self.answer("inspect", self.at / "cut.gguf")
        self.assertFalse(answer["inspect"]["file"]["complete"])
        self.assertEqual(answer["warnings"][0]["id"], "incomplete_file")
        self.assertEqual(answer["model"]["parameters"], m.LLAMA_PARAMETERS)

    def test_unknown_architecture_is_counted(self):
        head, size = m.llama_gguf(extra={"general.architecture": "llama"})
        head = head.replace(b"llama", b"zorro")
        m.write_sparse(self.at / "z.gguf", head, size)
        answer = self.answer("inspect", self.at / "z.gguf")
        self.assertEqual(answer["model"]["parameters"], m.LLAMA_PARAMETERS)
        self.assertIn("gguf_architecture_unknown", [w["id"] for w in answer["warnings"]])
        self.assertEqual(answer["model"]["kv_bytes_per_token"], 4 * 2 * 2 * 64 * 2)

    def test_400_gb_on_no_disk(self):
        path, head, size = self.write_gguf(layers=100, hidden=16384, heads=128, kv_heads=8, ffn=65536, weight="F16")
        self.assertGreater(size, 400e9)
        answer = self.answer("inspect", path)
        self.assertGreater(answer["model"]["tensor_bytes"], 400e9)

    # ---- safetensors
    def test_checkpoint_folder(self):
        place, total = self.write_checkpoint()
        answer = self.answer("inspect", place)
        self.assertEqual(answer["model"]["parameters"], m.LLAMA_PARAMETERS)
        self.assertEqual(answer["model"]["tensor_bytes"], total)
        self.assertEqual(answer["inspect"]["file"]["files"], 2)
        self.assertEqual(answer.get("warnings", []), [])
        # Any shard or the index stands for the whole.
        for name in ("model-00002-of-00002.safetensors", "model.safetensors.index.json"):
            self.assertEqual(self.answer("inspect", place / name)["model"]["tensor_bytes"], total)

    def test_checkpoint_leaves_copies_out(self):
        place, total = self.write_checkpoint()
        head, size = m.safetensors({"tok_embeddings.weight": ("BF16", [1000, 512])})
        m.write_sparse(place / "consolidated.safetensors", head, size)
        self.assertEqual(self.answer("inspect", place)["model"]["tensor_bytes"], total)

    def test_checkpoint_of_an_unknown_family(self):
        place, total = self.write_checkpoint(config=m.llama_config(model_type="zorro", architectures=["ZorroLM"]))
        answer = self.answer("inspect", place)
        self.assertEqual(answer["model"]["parameters"], m.LLAMA_PARAMETERS)
        self.assertEqual(answer["model"]["tensor_bytes"], total)
        self.assertEqual(answer["model"]["kv_bytes_per_token"], 4 * 2 * 2 * 64 * 2)
        self.assertIn("family_unknown", [w["id"] for w in answer["warnings"]])

    def test_files_that_differ_from_their_config(self):
        place, total = self.write_checkpoint(dtype="F32")
        answer = self.answer("inspect", place)
        self.assertEqual(answer["model"]["tensor_bytes"], total)
        self.assertIn("stored_bytes_differ", [w["id"] for w in answer["warnings"]])

    def test_config_file_with_its_quantisation_beside_it(self):
        (self.at / "config.json").write_text(json.dumps(m.llama_config()))
        plain = self.answer("inspect", self.at / "config.json")["model"]["tensor_bytes"]
        (self.at / "hf_quant_config.json").write_text(
            json.dumps({"quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}}))
        self.assertLess(self.answer("inspect", self.at / "config.json")["model"]["tensor_bytes"], plain)
        (self.at / "hf_quant_config.json").write_text("{")
        code, _, err = self.run_it("inspect", self.at / "config.json")
        self.assertEqual(code, 3)
        self.assertIn("hf_quant_config.json", err)

    def test_missing_shard(self):
        place, _ = self.write_checkpoint()
        (place / "model-00002-of-00002.safetensors").unlink()
        answer = self.answer("inspect", place, status=4)
        self.assertIn("model-00002-of-00002.safetensors", answer["error"]["message"])

    # ---- what people give by mistake
    def test_what_is_no_model(self):
        cases = {
            "pointer.gguf": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
            "page.gguf": (b"<!DOCTYPE html><html>", "web page"),
            "pytorch.safetensors": (b"PK\x03\x04" + bytes(100), "PyTorch"),
            "empty.gguf": (b"", "empty"),
            "old.gguf": (b"tjgg\x03\0\0\0" + bytes(100), "before GGUF"),
        }
        for name, (data, expected) in cases.items():
            with self.subTest(name):
                (self.at / name).write_bytes(data)
                answer = self.answer("inspect", self.at / name, status=3)
                self.assertIn(expected, json.dumps(answer["error"]))

    def test_missing_and_empty_places(self):
        self.answer("inspect", self.at / "nothing.gguf", status=4)
        (self.at / "empty").mkdir()
        answer = self.answer("inspect", self.at / "empty", status=4)
        self.assertIn("no model", answer["error"]["message"])

    def test_a_pipe_does_not_hang(self):
        os.mkfifo(self.at / "pipe.gguf")
        self.answer("inspect", self.at / "pipe.gguf", status=3)

    def test_several_gguf_in_a_folder(self):
        for weight, label in (("Q8_0", "Q8_0"), ("F16", "F16")):
            self.write_gguf(f"model-{label}.gguf", weight=weight)
        answer = self.answer("inspect", self.at, status=3)
        self.assertIn("F16, Q8_0", " ".join(answer["error"]["hints"]))
        self.assertEqual(self.answer("inspect", self.at, "--file", "model-F16.gguf")["model"]["weights"], "F16")
        self.assertIn("similar", " ".join(self.answer("inspect", self.at, "--file", "model-F1.gguf",
                                                      status=4)["error"]["hints"]))

    # ---- Ollama's store
    def test_ollama_store(self):
        head, size = m.llama_gguf()
        store = self.at / "store"
        digest = "ab" * 32
        (store / "blobs").mkdir(parents=True)
        m.write_sparse(store / "blobs" / f"sha256-{digest}", head, size)
        manifest = store / "manifests/registry.ollama.ai/library/tiny/8b"
        manifest.parent.mkdir(parents=True)
        manifest.write_text(json.dumps({"layers": [{"mediaType": "application/vnd.ollama.image.model",
                                                    "digest": "sha256:" + digest, "size": size}]}))
        answer = self.answer("inspect", "ollama:tiny:8b", env={"OLLAMA_MODELS": str(store)})
        self.assertEqual(answer["model"]["id"], "ollama:tiny:8b")
        self.assertEqual(answer["model"]["parameters"], m.LLAMA_PARAMETERS)
        self.answer("inspect", "ollama:tiny:9b", status=4, env={"OLLAMA_MODELS": str(store)})
        self.answer("inspect", "ollama:../../etc/passwd", status=3, env={"OLLAMA_MODELS": str(store)})

    # ---- diff
    def test_diff(self):
        a, *_ = self.write_gguf("a.gguf", weight="Q8_0")
        b, *_ = self.write_gguf("b.gguf", weight="F16", layers=5)
        diff = self.answer("diff", a, b)["diff"]
        self.assertEqual(diff["only_in_b_tensors"], 9)
        self.assertEqual(diff["only_in_a_tensors"], 0)
        self.assertEqual(diff["equal_tensors"], 4 * 2 + 1)  # the norms
        self.assertEqual(diff["changed_tensors"], 4 * 7 + 2)
        same = self.answer("diff", a, a)["diff"]
        self.assertEqual(same["changed_tensors"], 0)
        code, out, err = self.run_it("diff", a, b)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("Only in the second", out)

    # ---- the request that files mean
    def test_printed_request_asks_the_same(self):
        path, *_ = self.write_gguf()
        code, out, _ = self.run_it("inspect", path, "--print-request")
        self.assertEqual(code, 0)
        (self.at / "request.json").write_text(out)
        path.unlink()
        again = self.answer("inspect", "--request", self.at / "request.json")
        self.assertEqual(again["model"]["parameters"], m.LLAMA_PARAMETERS)

    def test_batch_reads_paths(self):
        path, *_ = self.write_gguf()
        lines = self.at / "lines.jsonl"
        lines.write_text(json.dumps({"ask": "inspect", "model": {"path": str(path)}}) + "\n" +
                         json.dumps({"id": 7, "ask": "inspect", "model": {"path": "nothing.gguf"}}) + "\n")
        code, out, _ = self.run_it("batch", lines)
        first, second = map(json.loads, out.splitlines())
        self.assertEqual(first["model"]["parameters"], m.LLAMA_PARAMETERS)
        self.assertEqual((second["id"], second["error"]["code"]), (7, "not_found"))
        self.assertEqual(code, 3)

    def test_text(self):
        path, *_ = self.write_gguf()
        code, out, err = self.run_it("inspect", path, "--tensors", "--ascii")
        self.assertEqual((code, err), (0, ""))
        for expected in ("GGUF version 3", "feed-forward", "blk.3.ffn_down.weight"):
            self.assertIn(expected, out)


if __name__ == "__main__":
    unittest.main(verbosity=1)
