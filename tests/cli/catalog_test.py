"""--catalog DIR: cards, models and offers of one's own beside the built-in ones, in every command; and models
for machines with unequal cards."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

VRAMWISE = os.path.abspath(os.environ.get("VRAMWISE", "build/release/bin/vramwise"))
CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 2048, "intermediate_size": 8192,
          "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 32000,
          "max_position_embeddings": 16384, "torch_dtype": "bfloat16"}
CARD = {"id": "my-card-40", "name": "My card", "aliases": ["mine"], "vendor": "nvidia", "compute_capability": "9.0",
        "memory_process_total": {"value": 40000, "unit": "MiB", "source": "own"}, "max_per_node": 2}
OFFER = {"id": "rack", "provider": "own", "instance": "rack", "gpu": "my-card-40", "gpu_count": 2,
         "prices": [{"usd_per_hour": 0.01, "date": "2026-11-01", "source": "own"}]}


def run(*arguments, text=None):
    return subprocess.run([VRAMWISE, *map(str, arguments)], capture_output=True, text=True, timeout=120, input=text,
                          env=dict(os.environ, LC_ALL="C.UTF-8"))


class Catalog(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, value):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return path

    def ask(self, *arguments):
        result = run(*arguments, "--json", "--catalog", self.folder)
        return json.loads(result.stdout), result.returncode

    def test_a_plain_config_and_a_card_make_a_plan(self):
        self.write("models/acme/tiny/config.json", CONFIG)
        self.write("gpus/any-name.json", CARD)
        answer, code = self.ask("plan", "acme/tiny", "--gpu", "mine", "--ctx", "4k")
        self.assertEqual((answer["model"]["id"], code), ("acme/tiny", 0))
        self.assertEqual(answer["devices"][0]["total_bytes"], 40000 * 2**20)
        # The same numbers as from the file itself.
        alone = json.loads(run("inspect", self.folder / "models/acme/tiny/config.json", "--json").stdout)
        self.assertEqual(answer["model"]["parameters"], alone["model"]["parameters"])

    def test_searches_and_offers_see_them(self):
        self.write("models/acme/tiny.json", CONFIG)
        self.write("gpus/card.json", CARD)
        self.write("instances/rack.json", OFFER)
        gpus = self.ask("gpus", "acme/tiny", "--ctx", "4k", "--concurrency", "4")[0]["gpus"]
        self.assertEqual((gpus["choices"][0]["gpu"], gpus["choices"][0]["offer"]), ("my-card-40", "own rack"))
        models = self.ask("models", "--gpu", "my-card-40", "--ctx", "4k")[0]["models"]
        self.assertIn("acme/tiny", [choice["model"] for choice in models["choices"]])
        listed = run("catalog", "gpus", "--catalog", self.folder)
        own = [line.split() for line in listed.stdout.splitlines() if line.startswith("my-card-40")]
        self.assertEqual(own, [["my-card-40", "My", "card", "39.1", "0.01"]])

    def test_listings_say_what_is_known(self):
        rows = json.loads(run("catalog", "gpus", "--json").stdout)["catalog"]["rows"]
        self.assertEqual(sorted(row["id"] for row in rows), [row["id"] for row in rows])
        card = next(row for row in rows if row["id"] == "h100-sxm")
        self.assertAlmostEqual(card["total_bytes"] / 2**30, 79.19, 2)
        self.assertGreater(card["usd_per_hour"], 0)
        engines = run("catalog", "engines").stdout
        self.assertRegex(engines, r"vllm +vLLM +0\.6 +0\.31")
        for line in run("catalog", "gpus", "--width", "80").stdout.splitlines():
            self.assertLessEqual(len(line), 80)

    def test_an_own_entry_wins_over_the_built_in_one(self):
        self.write("gpus/l40s.json", dict(CARD, id="l40s", aliases=[]))
        answer, _ = self.ask("plan", "llama-3.1-8b", "--gpu", "l40s")
        self.assertEqual(answer["devices"][0]["total_bytes"], 40000 * 2**20)

    def test_batches_and_later_folders(self):
        self.write("gpus/card.json", CARD)
        other = self.folder / "other"
        self.write("other/gpus/card.json", dict(CARD, memory_process_total={"value": 30000, "unit": "MiB", "source": "own"}))
        line = '{"model":{"ref":"llama-3.1-8b"},"hardware":{"gpu":"my-card-40"}}\n'
        batch = run("batch", "-", "--catalog", self.folder, "--catalog", other, text=line)
        self.assertEqual(json.loads(batch.stdout)["devices"][0]["total_bytes"], 30000 * 2**20)

    def test_faults_name_the_file(self):
        cases = [("gpus/a.json", "{", 3, "a.json"), ("gpus/a.json", {"id": "x"}, 3, "'name' is missing"),
                 ("gpus/a.json", {"name": "x"}, 3, '"id"'), ("models/a.json", {"id": "x", "config": {"model_type": "brandnew"}}, 3, "a.json"),
                 ("instances/a.json", dict(OFFER, gpu="no-such-card"), 4, "no-such-card"), ("nothing/a.json", {}, 4, "no catalog")]
        for name, value, code, words in cases:
            with self.subTest(name=name, value=value):
                path = self.write(name, value)
                result = run("plan", "llama-3.1-8b", "--gpu", "l40s", "--catalog", self.folder)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(words, result.stderr)
                self.assertIn(str(path if code == 3 or "instances" in name else self.folder), result.stderr)
                self.assertEqual(result.stdout, "")
                path.unlink()
                path.parent.rmdir()
        missing = run("plan", "llama-3.1-8b", "--gpu", "l40s", "--catalog", self.folder / "none")
        self.assertEqual(missing.returncode, 4)
        self.assertIn("no such folder", missing.stderr)


class Models(unittest.TestCase):
    def models(self, gpu, engine="llama.cpp"):
        result = run("models", "--gpu", gpu, "--engine", engine, "--weights", "Q4_K_M", "--ctx", "8k", "--json")
        return {c["model"]: c for c in json.loads(result.stdout)["models"]["choices"]}

    def test_unequal_cards_hold_what_both_hold_together(self):
        small, large, both = self.models("rtx-3060-12"), self.models("rtx-4090"), self.models("rtx-4090,rtx-3060-12")
        self.assertTrue(set(small) < set(large) < set(both))
        # Each is a plan that says the same.
        for name in [max(both, key=lambda m: both[m]["parameters"]), sorted(both)[0]]:
            plan = run("plan", name, "--weights", "Q4_K_M", "--gpu", "rtx-4090,rtx-3060-12", "--engine", "llama.cpp", "--ctx",
                       "8k", "--json")
            answer = json.loads(plan.stdout)
            self.assertEqual((answer["outcome"], answer["users"]), (both[name]["outcome"], both[name]["users"]))
            self.assertEqual([d["gpu"] for d in answer["devices"]], ["rtx-4090", "rtx-3060-12"])

    def test_the_subject_names_every_card(self):
        text = run("plan", "llama-3.1-8b", "--gpu", "rtx-4090,rtx-4090,rtx-3060-12", "--width", "200").stdout
        self.assertRegex(text, r"2 x rtx-4090 of [\d.]+ GiB \+ 1 x rtx-3060-12 of")

    def test_models_published_quantised_stand_in_their_own_format(self):
        choices = json.loads(run("models", "--gpu", "rtx-3090", "--ctx", "8k", "--json").stdout)["models"]["choices"]
        formats = {c["model"]: c["weights"] for c in choices}
        self.assertEqual((formats["openai/gpt-oss-20b"], formats["mistralai/Ministral-3-8B-Instruct-2512"]), ("mxfp4", "fp8"))
        # A variant of a model that is there itself does not come twice.
        self.assertNotIn("Qwen/Qwen3-8B-FP8", formats)
        gguf = json.loads(run("models", "--gpu", "rtx-3090", "--ctx", "8k", "--engine", "llama.cpp", "--json").stdout)["models"]["choices"]
        self.assertNotIn({c["model"]: c["weights"] for c in gguf}.get("mistralai/Ministral-3-8B-Instruct-2512"), (None, "fp8"))

    def test_what_is_inside_the_bars_comes_after_what_fits(self):
        result = run("models", "--gpu", "rtx-4060-ti-16", "--ctx", "4k", "--json")
        outcomes = [c["outcome"] for c in json.loads(result.stdout)["models"]["choices"]]
        self.assertEqual(outcomes, sorted(outcomes))
        self.assertLessEqual(set(outcomes), {"fits", "tight"})

    def test_an_unknown_card_of_several_is_named(self):
        result = run("models", "--gpu", "rtx-4090,rtx-306")
        self.assertEqual(result.returncode, 4)
        self.assertIn("rtx-306", result.stderr)


if __name__ == "__main__":
    unittest.main()
