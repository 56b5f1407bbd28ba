"""Several programs on one node: start order, shares of the total and of what is free, files and their faults."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

VRAMWISE = os.path.abspath(os.environ.get("VRAMWISE", "build/release/bin/vramwise"))


class Node(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.at = pathlib.Path(folder.name)

    def run_file(self, text, *arguments, name="node.yaml"):
        (self.at / name).write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
        return subprocess.run([VRAMWISE, "plan", "--node", name, *arguments], capture_output=True, text=True,
                              timeout=120, cwd=self.at, env=dict(os.environ, LC_ALL="C.UTF-8"))

    def node(self, text, *arguments):
        result = self.run_file(text, *arguments, "--json")
        answer = json.loads(result.stdout)
        self.assertNotIn("error", answer)
        self.assertEqual(result.returncode, 0 if answer["outcome"] in ("fits", "tight") else 1)
        return answer

    def vllm(self, first, second, card="h100-sxm"):
        return self.node(f"""
hardware: {card}
processes:
  - name: one
    line: vllm serve Qwen/Qwen3-8B --max-model-len 8192 --gpu-memory-utilization {first}
  - name: two
    line: vllm serve Qwen/Qwen3-8B --max-model-len 8192 --gpu-memory-utilization {second}
""")

    def test_a_share_is_of_the_total_and_must_be_free(self):
        answer = self.vllm(0.9, 0.9)
        one, two = answer["node"]["processes"]
        self.assertEqual((answer["outcome"], one["outcome"], two["outcome"]),
                         ("refuses_to_start", "fits", "refuses_to_start"))
        self.assertEqual((two["binding"], answer["node"]["decides"], answer["starts"]), ("utilisation", 1, False))
        self.assertIn("on startup is less than desired GPU memory utilization (0.9, 71.27 GiB)", two["engine_error"])
        # What is planned for the second is planned on what the first leaves.
        found = two["devices"][0]["found_free_bytes"]
        self.assertEqual(found, answer["node"]["devices"][0]["total_bytes"] - one["devices"][0]["takes_bytes"])
        self.assertEqual(two["devices"][0]["takes_bytes"], 0)

    def test_smaller_shares_start_and_are_proposed(self):
        self.assertEqual(self.vllm(0.5, 0.4)["outcome"], "fits")
        # Halves of the total are one context too many: the first also holds what its share does not count.
        self.assertNotEqual(self.vllm(0.5, 0.5)["outcome"], "fits")
        shares = [c for c in self.vllm(0.9, 0.9)["node"]["changes"] if "options" in c]
        first, second = (list(o["set"].values())[0] for o in shares[0]["options"])
        self.assertEqual(self.vllm(first, second)["outcome"], "fits")
        self.assertNotEqual(self.vllm(round(first + 0.01, 2), round(second + 0.01, 2))["outcome"], "fits")

    def test_a_share_of_what_is_free_depends_on_the_order(self):
        vllm = "  - {name: v, line: vllm serve Qwen/Qwen3-8B --max-model-len 8192 --gpu-memory-utilization 0.5}\n"
        sglang = ("  - {name: s, line: python -m sglang.launch_server --model-path Qwen/Qwen3-8B"
                  " --context-length 8192 --mem-fraction-static 0.8}\n")
        after = self.node("hardware: h100-sxm\nprocesses:\n" + vllm + sglang)
        self.assertEqual(after["outcome"], "fits")
        v, s = after["node"]["processes"]
        self.assertLess(s["devices"][0]["takes_bytes"], s["devices"][0]["found_free_bytes"])
        # The other way round SGLang takes its share of the whole card, and vLLM's half is not free.
        before = self.node("hardware: h100-sxm\nprocesses:\n" + sglang + vllm)
        self.assertEqual((before["outcome"], before["node"]["processes"][1]["name"]), ("refuses_to_start", "v"))
        order = [c for c in before["node"]["changes"] if "order" in c]
        self.assertEqual(order[0]["order"], [1, 0])

    def test_a_desktop_takes_room_from_llama_cpp(self):
        file = ("hardware: rtx-4090\nprocesses:\n  - {name: desktop, used: %s}\n"
                "  - {name: chat, line: llama-server -hf Qwen/Qwen3-32B-GGUF:Q4_K_M -c 16384 -np 1 -ngl 99}\n")
        without = self.node(file % "1MiB")
        beside = self.node(file % "3GiB")
        self.assertEqual(without["outcome"], "fits")
        self.assertEqual(beside["outcome"], "does_not_fit")
        self.assertEqual(beside["node"]["processes"][0]["kind"], "other")
        self.assertEqual(without["node"]["processes"][1]["devices"][0]["found_free_bytes"] -
                         beside["node"]["processes"][1]["devices"][0]["found_free_bytes"], (3 * 1024 - 1) << 20)

    def test_cards_of_unequal_size_and_slices(self):
        answer = self.node("""
hardware: [rtx-3090, "h100-sxm:1g.10gb"]
processes:
  - {name: chat, devices: [0], model: Qwen/Qwen3-8B, engine: vllm, ctx: 8k, concurrency: 4}
  - {name: embed, devices: [1], model: Qwen/Qwen3-Embedding-0.6B, engine: vllm, ctx: 8k, concurrency: 2}
""")
        # The slice's size is inferred, and its bar may decide.
        self.assertIn(answer["outcome"], ("fits", "tight"))
        self.assertTrue(answer["starts"])
        self.assertEqual([d["gpu"] for d in answer["node"]["devices"]], ["rtx-3090", "h100-sxm:1g.10gb"])
        self.assertEqual([p["devices"][0]["device"] for p in answer["node"]["processes"]], [0, 1])
        self.assertTrue(all(d["taken_bytes"] > 0 for d in answer["node"]["devices"]))

    def test_visible_cards_and_parallel_sizes_choose(self):
        answer = self.node("""
hardware: {gpu: h100-sxm, count: 4}
processes:
  - {name: a, line: "CUDA_VISIBLE_DEVICES=2,3 vllm serve Qwen/Qwen3-32B -tp 2 --max-model-len 8192"}
  - {name: b, line: "vllm serve Qwen/Qwen3-8B -tp 1 --max-model-len 8192"}
""")
        self.assertEqual([[d["device"] for d in p["devices"]] for p in answer["node"]["processes"]], [[2, 3], [0]])
        self.assertEqual(answer["node"]["devices"][1]["taken_bytes"], 0)

    def test_host_memory_is_judged_where_it_is_given(self):
        file = ("hardware: {gpu: h100-sxm, ram: %s}\nprocesses:\n  - {name: notebook, host: 6GiB}\n"
                "  - {name: chat, line: vllm serve Qwen/Qwen3-8B --max-model-len 8192 --cpu-offload-gb 4}\n")
        self.assertEqual(self.node(file % "16GiB")["outcome"], "fits")
        dies = self.node(file % "9GiB")
        self.assertEqual((dies["outcome"], dies["node"]["processes"][1]["binding"]), ("does_not_fit", "host_memory"))
        self.assertEqual(dies["node"]["host"]["peak_bytes"], 10 << 30)

    def test_the_first_line_answers_and_text_keeps_to_80_columns(self):
        result = self.run_file("""
hardware: h100-sxm
processes:
  - {name: a program with a name that is far too long for a table, line: vllm serve Qwen/Qwen3-8B}
  - {name: two, line: vllm serve Qwen/Qwen3-8B}
""", "--width", "80", "--color", "never")
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stdout.startswith("✗ two (vllm) refuses to start"), result.stdout)
        for line in result.stdout.splitlines():
            if "vllm serve" not in line:
                self.assertLessEqual(len(line), 80, line)
        self.assertIn("aaaaaaaa", result.stdout)

    def test_faults_name_file_place_and_next_step(self):
        for text, code, *parts in (
                ("hardware: h100-sxm\n", 3, "node.yaml", "processes", "docs/node-files.md"),
                ("hardware: h100-sxm\nprocesses: []\n", 3, "node.yaml", "processes"),
                ("hardware: h1000\nprocesses: [{name: a, used: 1GiB}]\n", 4, "node.yaml", "h100"),
                ("hardware: h100-sxm\nprocesses: [{name: a}]\n", 3, "node.yaml", "processes", "line"),
                ("hardware: h100-sxm\nprocesses: [{name: a, used: 1Gib1}]\n", 3, "node.yaml", "processes[0].used"),
                ("hardware: h100-sxm\nprocesses: [{name: a, used: 1GiB, devices: [1]}]\n", 3, "no card 1"),
                ("hardware: h100-sxm\nprocesses: [{name: a, line: ls}]\n", 3, "node.yaml", "processes[0]"),
                ("hardware: h100-sxm\nprocesses: [{name: a, model: qwen3-8bb, engine: vllm}]\n", 4, "processes[0]"),
                ("hardware: h100-sxm\nprocesses: [{name: a, model: qwen3-8b, used: 1GiB}]\n", 3, "processes"),
                ("hardware: h100-sxm\nprocesses: [\n", 3, "node.yaml"),
                ("{", 3, "node.yaml")):
            result = self.run_file(text)
            self.assertEqual((result.returncode, result.stdout), (code, ""), text + result.stderr)
            for part in parts:
                self.assertIn(part, result.stderr, text)

    def test_one_server_is_not_given_beside_a_node(self):
        result = self.run_file("hardware: h100-sxm\nprocesses: [{used: 1GiB}]\n", "--save", "x.json")
        self.assertEqual(result.returncode, 2)
        missing = subprocess.run([VRAMWISE, "plan", "--node", "nowhere.yaml"], capture_output=True, text=True)
        self.assertEqual(missing.returncode, 4)


if __name__ == "__main__":
    unittest.main()
