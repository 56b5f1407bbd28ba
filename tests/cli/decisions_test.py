"""The questions of docs/decisions.md are answered, and --prices replaces the catalog's prices."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

VRAMWISE = os.path.abspath(os.environ.get("VRAMWISE", "build/release/bin/vramwise"))
ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*arguments):
    return subprocess.run([VRAMWISE, *map(str, arguments)], capture_output=True, text=True, timeout=120, cwd=ROOT,
                          env=dict(os.environ, LC_ALL="C.UTF-8"))


class Questions(unittest.TestCase):
    def test_the_two_questions_are_answered(self):
        answer = json.loads(run("gpus", "Qwen/Qwen3-32B", "--ctx", "8k", "--concurrency", "50", "--json").stdout)["gpus"]
        first = answer["choices"][0]
        self.assertGreaterEqual(first["users"], 50)
        self.assertRegex(first["price_date"], r"^20\d\d-\d\d-\d\d$")
        prices = [c["usd_per_hour"] for c in answer["choices"] if "usd_per_hour" in c]
        self.assertEqual(prices, sorted(prices))
        # The choice is a plan that fits by itself.
        arguments = [f"--option={k}={json.dumps(v)}" for k, v in first.get("options", {}).items()]
        plan = run("plan", "Qwen/Qwen3-32B", "--ctx", "8k", "--concurrency", "50", "--gpu", first["gpu"], "--count",
                   first["count"], *arguments, "--json")
        self.assertEqual(json.loads(plan.stdout)["outcome"], "fits")


class SleepMode(unittest.TestCase):
    def test_a_smaller_share_or_no_sleep_mode_makes_it_certain(self):
        plan = ("plan", "Qwen/Qwen3-8B-AWQ", "--gpu", "a10", "--engine-version", "0.21.0", "--ctx", "4096", "--json")
        self.assertEqual(json.loads(run(*plan).stdout)["outcome"], "fits")
        for option in ("enable_sleep_mode", "enable_cumem_allocator"):
            answer = json.loads(run(*plan, "-o", f"{option}=true").stdout)
            self.assertEqual((answer["outcome"], answer["binding"]), ("tight", "sleep_mode"))
            self.assertIn("sleep_mode", [w["id"] for w in answer["warnings"]])
            levers = {tuple(lever["ids"]): lever for lever in answer["levers"]}
            for lever in (("gpu_memory_utilization",), ("enable_sleep_mode",)):
                self.assertEqual(levers[lever]["outcome"], "fits", lever)
        # A cache of a fixed size is not sized by what is taken for free.
        fixed = json.loads(run(*plan, "-o", "enable_sleep_mode=true", "-o", "kv_cache_memory_bytes=4294967296").stdout)
        self.assertNotIn("sleep_mode", [w["id"] for w in fixed["warnings"]])


class Prices(unittest.TestCase):
    def gpus(self, prices, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "prices.json"
            path.write_text(prices if isinstance(prices, str) else json.dumps(prices), encoding="utf-8")
            return run("gpus", "qwen3-8b", "--ctx", "8k", "--concurrency", "4", "--prices", path, *arguments)

    def test_own_prices_take_the_catalogs_place(self):
        offers = [{"gpu": "H100", "count": 8, "usd_per_hour": 12, "name": "rack 4"},
                  {"gpu": "rtx-3090", "usd_per_hour": 0.1, "name": "desk", "date": "2026-11-01"}]
        for given in (offers, {"prices": offers}):
            answer = json.loads(self.gpus(given, "--json").stdout)["gpus"]
            priced = [c for c in answer["choices"] if "usd_per_hour" in c]
            self.assertEqual({c["gpu"] for c in priced}, {"h100-sxm", "rtx-3090"})
            self.assertEqual((priced[0]["gpu"], priced[0]["offer"].split(" x ")[-1]), ("rtx-3090", "desk"))
            self.assertEqual(priced[0]["price_date"], "2026-11-01")
            rack = [c for c in priced if c["gpu"] == "h100-sxm"]
            self.assertEqual({c["usd_per_hour"] for c in rack}, {12})
            self.assertNotIn("price_date", rack[0])

    def test_wrong_prices_say_so(self):
        for prices, code in (("{}", 3), ("[", 3), ("[]", 3), ([{"gpu": "h1000", "usd_per_hour": 1}], 4),
                             ([{"gpu": "h100-sxm"}], 3), ([{"gpu": "h100-sxm", "usd_per_hour": -1}], 3),
                             ([{"gpu": "h100-sxm", "usd_per_hour": 1, "count": 0}], 3), ([7], 3)):
            result = self.gpus(prices)
            self.assertEqual((result.returncode, result.stdout), (code, ""), str(prices) + result.stderr)
        self.assertEqual(run("gpus", "qwen3-8b", "--prices", "nowhere.json").returncode, 4)


if __name__ == "__main__":
    unittest.main()
