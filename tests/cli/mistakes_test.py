"""What people get wrong at first: each is told apart and says the next step."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

VRAMWISE = os.path.abspath(os.environ.get("VRAMWISE", "build/release/bin/vramwise"))


def run(*arguments, stdout=subprocess.PIPE, **environment):
    return subprocess.run([VRAMWISE, *map(str, arguments)], stdout=stdout, stderr=subprocess.PIPE, text=True,
                          timeout=120, env=dict(os.environ, LC_ALL="C.UTF-8", **environment))


class Sizes(unittest.TestCase):
    def test_a_forgotten_unit_is_no_card_of_24_bytes(self):
        for flag in ("--total", "--used", "--ram"):
            result = run("plan", "qwen3-8b", "--gpu", "l4", flag, "24")
            self.assertEqual(result.returncode, 3, flag)
            self.assertIn("write 24GiB", result.stderr)
        for size in ("0", "24GiB", "24 GB", "512MiB", "25769803776", "24000000B"):
            self.assertNotEqual(run("plan", "qwen3-8b", "--gpu", "l4", "--used", size).returncode, 2)
            self.assertNotIn("without a unit", run("plan", "qwen3-8b", "--gpu", "l4", "--used", size).stderr)


class EngineFlags(unittest.TestCase):
    def test_a_flag_of_the_engine_says_how_it_is_given_here(self):
        for words, said in ((("--kv-cache-dtype", "fp8"), "vllm: -o kv_cache_dtype=VALUE\n"),
                            (("--max-model-len=4096",), "vllm: -o max_model_len=4096\n"),
                            (("--no-enable-prefix-caching",), "vllm: -o enable_prefix_caching=false\n"),
                            (("-e", "sglang", "--tp", "2"), "sglang: -o tp_size=VALUE\n"),
                            (("-ngl", "99"), "llama.cpp: -e llama.cpp -o n_gpu_layers=VALUE\n"),
                            (("--n-gpu-layers", "99"), "llama.cpp: -e llama.cpp -o n_gpu_layers=VALUE\n")):
            result = run("plan", "qwen3-8b", "--gpu", "l4", *words)
            self.assertEqual(result.returncode, 2)
            self.assertIn("help: it is an option of " + said, result.stderr)
        # What is only near to one of ours stays a typo of it.
        for typo, ours in (("--gpuu", "--gpu"), ("--weight", "--weights")):
            self.assertIn(f"similar name exists: {ours}\n", run("plan", "qwen3-8b", typo, "l4").stderr)


class OtherFormat(unittest.TestCase):
    def test_a_command_that_serves_another_format_says_so_above_it(self):
        for weights in ("Q4_K_M", "awq", "fp8"):
            text = run("plan", "Qwen/Qwen3-8B", "--gpu", "l4", "-w", weights, "--ctx", "8k").stdout
            block = text[text.index("Run it"):]
            self.assertIn("# the weights are planned in " + weights, block)
            self.assertLess(block.index("name a"), block.index("vllm serve"))
            self.assertEqual("--quantization fp8" in block.replace("\n  # ", " "), weights == "fp8")
        plain = run("plan", "Qwen/Qwen3-8B", "--gpu", "l4", "-w", "bf16", "--ctx", "8k").stdout
        self.assertNotIn("# ", plain[plain.index("Run it"):])


class Wording(unittest.TestCase):
    def test_both_sizes_have_their_unit(self):
        self.assertRegex(run("plan", "qwen3-8b", "--gpu", "l4", "--total", "24TiB").stdout, r"Fits: [0-9.]+ TiB of 24.00 TiB")

    def test_a_server_is_told_from_a_name(self):
        self.assertIn("'notaurl' is not the address of a server", run("watch", "notaurl", "--once").stderr)

    def test_an_engine_for_gpus_alone_says_so(self):
        self.assertIn("-e llama.cpp", run("models", "--gpu", "none").stdout)

    def test_a_backend_that_the_card_has_not(self):
        result = run("plan", "qwen3-8b", "--gpu", "l4", "--backend", "metal", "--ctx", "8k")
        self.assertEqual(result.returncode, 3)
        self.assertIn("l4 has no backend 'metal'", result.stderr)

    def test_a_file_that_is_no_config(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "config.json")
            for text, said in (("[]", "nor a JSON object"), ("{}", "no key of it is a language model's")):
                file.write_text(text)
                self.assertIn(said, run("plan", file, "--gpu", "l4").stderr)


class OllamaPlacement(unittest.TestCase):
    def test_no_placement_that_ollama_cannot_take(self):
        asked = ("--gpu", "rtx-4060-ti-16", "--json")
        of_ollama = json.loads(run("plan", "qwen3:30b-a3b", "--engine", "ollama", "--engine-version", "0.30", *asked).stdout)
        of_server = json.loads(run("plan", "qwen3-30b-a3b", "--weights", "Q4_K_M", "--engine", "llama.cpp", *asked).stdout)
        self.assertNotIn("better", of_ollama["fit"])
        self.assertIn("better", of_server["fit"])


class UncountedEncoder(unittest.TestCase):
    def test_an_encoder_whose_images_are_not_known_is_said_to_be_left_out(self):
        def warned(model, *more):
            answer = json.loads(run("plan", model, "--gpu", "h100-sxm", "--json", *more).stdout)
            return "encoder_not_counted" in [note["id"] for note in answer.get("warnings", [])]

        self.assertTrue(warned("google/paligemma-3b-mix-448"))
        self.assertFalse(warned("google/paligemma-3b-mix-448", "-o", "skip_mm_profiling=true"))
        self.assertFalse(warned("google/paligemma-3b-mix-448", "-o", "language_model_only=true"))
        self.assertFalse(warned("Qwen/Qwen3-VL-8B-Instruct"))
        self.assertFalse(warned("qwen3-8b"))


class Words(unittest.TestCase):
    def test_an_unknown_command_is_named(self):
        result = run("plann", "qwen3-8b")
        self.assertEqual(result.returncode, 2)
        self.assertTrue(result.stderr.startswith("error: unknown command 'plann'\n"), result.stderr)

    def test_no_card_at_all_is_no_plan_for_the_processor(self):
        result = run("plan", "qwen3-8b", "--gpu", "l4", "-n", "0")
        self.assertEqual(result.returncode, 3)
        self.assertIn("--gpu none", result.stderr)

    def test_a_build_of_llama_cpp_is_no_release_of_vllm(self):
        result = run("plan", "qwen3-8b", "--gpu", "l4", "--ctx", "4k", "--engine-version", "b9200")
        self.assertEqual(result.returncode, 3)
        self.assertIn("a build of llama.cpp", result.stderr)


class Lines(unittest.TestCase):
    def test_a_line_of_one_engine_is_not_planned_as_another(self):
        result = run("plan", "-e", "sglang", "--gpu", "l4", "--", "vllm", "serve", "Qwen/Qwen3-8B", "--max-model-len", "8k")
        self.assertEqual(result.returncode, 3)
        for part in ("the line starts vllm", "sglang", "--engine sglang"):
            self.assertIn(part, result.stderr)
        self.assertEqual(run("plan", "-e", "vllm", "--gpu", "l4", "--", "vllm", "serve", "Qwen/Qwen3-8B",
                             "--max-model-len", "8192").returncode, 0)

    def test_a_line_without_a_model_is_told_in_its_own_words(self):
        result = run("plan", "--gpu", "rtx-4090", "--", "ollama", "run")
        self.assertEqual(result.returncode, 3)
        self.assertIn("the line names no model", result.stderr)
        self.assertIn("vramwise plan MODEL", result.stderr)

    def test_a_switch_of_vllm_takes_no_other_word(self):
        for name in ("VLLM_USE_V2_MODEL_RUNNER", "VLLM_FORCE_AOT_LOAD"):
            result = run("plan", "Qwen/Qwen3-8B", "--gpu", "l4", "--ctx", "8k", "--env", f"{name}=banana")
            self.assertEqual(result.returncode, 3)
            self.assertIn(f"{name} is 'banana', expected 0 or 1", result.stderr)

    def test_an_override_of_no_key_is_said(self):
        asked = ("plan", "Qwen/Qwen3-8B", "--gpu", "l4", "--ctx", "8k", "--json", "--override")
        warned = {note["id"]: note["text"] for note in json.loads(run(*asked, "num_hiden_layers=1").stdout)["warnings"]}
        self.assertIn("a similar key exists: num_hidden_layers", warned["override_of_no_key"])
        told = [note["id"] for note in json.loads(run(*asked, "num_hidden_layers=1").stdout).get("warnings", [])]
        self.assertNotIn("override_of_no_key", told)


class Help(unittest.TestCase):
    def test_help_is_as_wide_as_the_terminal_and_80_columns_in_a_pipe(self):
        commands = [line.split()[0] for line in run("--help").stdout.split("Subcommands:")[1].split("\n\n")[0].splitlines()
                    if line[2:3].isalpha()]
        self.assertIn("loadtest", commands)
        for command in ("", *commands):
            arguments = [command, "--help"] if command else ["--help"]
            for width in (0, 76, 120):
                environment = {"COLUMNS": str(width)} if width else {"COLUMNS": ""}
                text = run(*arguments, **environment).stdout
                prose = text.split("Examples:")[0]  # an example is a line to copy
                self.assertLessEqual(max(map(len, prose.splitlines())), width or 80, (command, width))
                self.assertNotIn("\n\n\n", text)
            self.assertLessEqual(max(map(len, run(*arguments, COLUMNS="").stdout.splitlines())), 80, command)

    def test_help_shows_the_command_asked_about(self):
        for command in ("gpus", "batch", "diff", "verify", "watch", "calibration"):
            examples = run(command, "--help").stdout.split("Examples:")[1]
            self.assertIn(f"vramwise {command} ", examples)
        self.assertIn("[-- ENGINE'S LAUNCH LINE]", run("plan", "--help").stdout)
        self.assertNotIn("LAUNCH LINE]", run("batch", "--help").stdout)


class LaunchLines(unittest.TestCase):
    def test_our_options_behind_the_dashes_are_told_where_they_belong(self):
        line = ("--", "vllm", "serve", "Qwen/Qwen3-8B")
        for ours in (("--json",), ("--gpu", "h100-sxm"), ("--gpu=h100-sxm",), ("--ctx", "8k")):
            result = run("plan", "--gpu", "l4", *line, *ours)
            self.assertEqual((result.returncode, result.stdout), (2, ""), ours)
            self.assertIn(f"{ours[0].split('=')[0]} stands behind `--`", result.stderr)
        # What an engine takes stays the engine's: an abbreviation of vLLM's, LM Studio's own option.
        self.assertNotIn("stands behind", run("plan", "--gpu", "l4", *line, "--gpu", "0.9").stderr)
        self.assertNotIn("stands behind", run("plan", "--gpu", "l4", "--", "lms", "load", "qwen3-8b", "--gpu", "max").stderr)

    def test_the_parallel_sizes_of_every_engine_say_how_many_cards(self):
        def count(*line):
            answer = json.loads(run("plan", "--gpu", "h200-sxm", "--json", "--", *line).stdout)
            return len(answer["devices"])

        model = "Qwen/Qwen3-32B"
        self.assertEqual(count("vllm", "serve", model, "-tp", "2", "-pp", "2"), 4)
        sglang = ("python3", "-m", "sglang.launch_server", "--model-path", model)
        self.assertEqual(count(*sglang, "--tp", "4"), 4)
        self.assertEqual(count(*sglang, "--tp", "4", "--dp", "2"), 8)
        self.assertEqual(count(*sglang, "--tp", "4", "--dp", "4", "--enable-dp-attention"), 4)
        self.assertEqual(count("trtllm-serve", model, "--tp_size", "2", "--pp_size", "2"), 4)

    def test_a_stage_of_a_pipeline_keeps_the_cache_of_its_own_layers(self):
        answer = json.loads(run("plan", "--gpu", "a100-sxm4-40", "--json", "--", "vllm", "serve", "meta-llama/Llama-3.1-70B-Instruct",
                                "-tp", "4", "-pp", "2", "--max-model-len", "16384").stdout)
        # 40 of 80 layers, 2 of 8 heads of 128, keys and values of 2 bytes.
        self.assertEqual(answer["kv"]["bytes_per_token"], 40 * 2 * 128 * 2 * 2)

    def test_another_model_named_beside_the_line_is_said(self):
        line = ("--", "vllm", "serve", "Qwen/Qwen3-14B", "--max-model-len", "4096")
        def warned(*model):
            answer = json.loads(run("plan", "--gpu", "l40s", "--json", *model, *line).stdout)
            return [note["text"] for note in answer.get("warnings", []) if note["id"] == "other_model"]

        self.assertEqual(warned("Qwen/Qwen3-8B"),
                         ["the line serves Qwen/Qwen3-14B; planned is Qwen/Qwen3-8B, which was named beside it"])
        self.assertEqual(warned("qwen3-14b") + warned(), [])


class Contradictions(unittest.TestCase):
    def test_nothing_fits_for_certain_in_more_than_the_card_has(self):
        # Outside of the fraction there is less than graphs and a chunk of a prompt are taken to need.
        line = ("--", "sglang", "serve", "--model-path", "deepseek-ai/DeepSeek-V4-Pro", "--tp", "8", "--mem-fraction-static")
        tight = json.loads(run("plan", "--gpu", "h200-sxm", "--json", *line, "0.96").stdout)
        device = tight["devices"][0]
        self.assertGreater(device["reserved_bytes"], device["total_bytes"])
        self.assertEqual((tight["outcome"], tight["starts"]), ("tight", True))
        fits = json.loads(run("plan", "--gpu", "h200-sxm", "--json", *line, "0.88").stdout)
        self.assertEqual(fits["outcome"], "fits")
        # A pool below the longest request: SGLang starts all the same.
        fits = json.loads(run("plan", "--gpu", "h200-sxm", "--json", *line, "0.84").stdout)
        self.assertEqual(fits["outcome"], "fits")
        self.assertIn(f"room for one request of up to {fits['kv']['pool_tokens']:,} tokens", fits["answer"])


class FormatsOfRepositories(unittest.TestCase):
    def test_mistral_releases_are_in_fp8(self):
        # recipes.vllm.ai/mistralai: Ministral-3-14B-Instruct-2512, Mistral-Small-4-119B-2603.
        for model, billions in (("mistralai/Ministral-3-14B-Instruct-2512", 15.8), ("mistralai/Mistral-Small-4-119B-2603", 121.0)):
            answer = json.loads(run("plan", model, "--gpu", "h200-sxm", "-n", "2", "--json").stdout)
            self.assertEqual(answer["model"]["weights"], "fp8")
            self.assertLess(answer["model"]["tensor_bytes"], billions * 1e9)
        small = json.loads(run("plan", "mistralai/Mistral-Small-4-119B-2603", "--gpu", "h200-sxm", "--json").stdout)["model"]
        self.assertEqual(round(small["parameters"] / 1e8), 1194)  # the hub's figure
        self.assertEqual(small["cache"]["bytes_at"]["131072"], 131072 * 36 * (256 + 64) * 2)


class Files(unittest.TestCase):
    def test_batch_says_why_a_file_cannot_be_read(self):
        result = run("batch", "no-such-file.jsonl")
        self.assertEqual(result.returncode, 4)
        self.assertIn("No such file", result.stderr)

    def test_spoilt_measurements_do_not_stop_plans_for_good(self):
        with tempfile.TemporaryDirectory() as folder:
            store = pathlib.Path(folder) / "vramwise" / "calibration.json"
            store.parent.mkdir()
            store.write_text("spoilt")
            result = run("plan", "qwen3-8b", "--gpu", "l40s", XDG_CONFIG_HOME=folder)
            self.assertEqual(result.returncode, 3)
            self.assertIn("--no-calibration", result.stderr)
            without = run("plan", "qwen3-8b", "--gpu", "l40s", "--no-calibration", XDG_CONFIG_HOME=folder)
            self.assertEqual(without.returncode, 0, without.stderr)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no full disk to write to")
    def test_half_an_answer_is_no_success(self):
        for arguments in (("plan", "qwen3-8b", "--gpu", "l40s"), ("catalog", "gpus"), ("--help",)):
            with open("/dev/full", "w") as full:
                result = run(*arguments, stdout=full)
            self.assertEqual(result.returncode, 3, arguments)
            self.assertIn("could not be written", result.stderr)

    def test_a_reader_that_has_enough_is_no_error(self):
        process = subprocess.Popen([VRAMWISE, "catalog", "models"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        process.wait(60)


class Answers(unittest.TestCase):
    def test_one_weight_format_of_the_catalog(self):
        result = run("catalog", "weights", "awq", "--json")
        self.assertEqual([w["id"] for w in json.loads(result.stdout)["catalog"]["weights"]], ["awq"])
        unknown = run("catalog", "weights", "awk")
        self.assertEqual(unknown.returncode, 4)
        self.assertIn("gptq-int4", unknown.stderr)

    def test_no_user_of_the_full_length_is_not_one_of_a_shorter(self):
        text = run("plan", "qwen3-8b", "--gpu", "l4", "--width", 200).stdout
        self.assertIn("0 users of the full length", text)

    def test_bytes_a_token_of_one_card_are_not_those_of_the_model(self):
        text = run("plan", "qwen3-8b", "--gpu", "l4", "--count", 2, "--ctx", "8k", "--width", 200).stdout
        self.assertIn("73,728 B a token on the fullest card", text)

    def test_a_file_that_is_fetched_gets_no_made_up_path(self):
        line = "llama-server -hf bartowski/Qwen2.5-7B-Instruct-GGUF:Q4_K_M -c 8192"
        command = json.loads(run("plan", "--gpu", "l40s", "--json", "--", *line.split()).stdout)["command"]
        self.assertNotIn(" -m ", command)
        self.assertIn("bartowski/Qwen2.5-7B-Instruct-GGUF:Q4_K_M", command)
        served = run("plan", "qwen3-0.6b", "--engine", "ollama", "--gpu", "l40s").stdout
        self.assertNotIn("-.gguf", served)

    def test_a_name_of_ollamas_library_is_its_file(self):
        for name in ("llama3.1", "llama2", "qwen3", "llama-3.1-8b"):
            plan = json.loads(run("plan", name, "--engine", "ollama", "--gpu", "rtx-4090", "--json").stdout)
            self.assertIn("ollama_file", [a["id"] for a in plan["assumptions"]], name)
            self.assertLess(plan["model"]["tensor_bytes"], 6 * 2**30, name)
        wide = run("plan", "llama3.1", "--engine", "ollama", "--weights", "F16", "--gpu", "rtx-4090").stdout
        self.assertIn("F16", wide)
        served = run("plan", "llama-3.1-8b", "--engine", "vllm", "--gpu", "rtx-4090").stdout
        self.assertIn("bf16", served)

    def test_ollama_is_not_told_flags_of_the_server_inside(self):
        for version in ("0.12", "0.30"):
            said = run("plan", "qwen3:8b", "--engine", "ollama", "--engine-version", version, "--gpu", "rtx-4060").stdout
            self.assertNotIn("--cache-ram", said, version)
        self.assertIn("LLAMA_ARG_CACHE_RAM", said)

    def test_draft_contexts_are_counted_or_warned_of(self):
        line = "llama-server -hf unsloth/{} -c 8192 --spec-type draft-mtp".format
        plan = json.loads(run("plan", "--gpu", "h200-sxm", "--json", "--", *line("GLM-4.5-Air-GGUF:Q4_K_M").split()).stdout)
        self.assertIn("draft_head_estimated", [w["id"] for w in plan["warnings"]])
        head = {row["item"]: row["bytes"] for row in plan["ledger"] if "draft head" in row["item"]}
        # One layer of 8 heads of 128 in 16 bits, keys and values, for every token.
        self.assertEqual(head["cache of the draft head"], 8192 * 8 * 128 * 2 * 2)
        self.assertGreater(head["compute buffer of the draft head"], 0)
        known = json.loads(run("plan", "--gpu", "h200-sxm", "--json", "--", *line("Qwen3.5-35B-A3B-GGUF:Q4_K_M").split()).stdout)
        self.assertNotIn("draft_head_estimated", [w["id"] for w in known.get("warnings", [])])
        for more in ("--spec-type draft-mtp -md google/gemma-4-26B-A4B-it-assistant", "--spec-type draft-simple"):
            lone = "llama-server -hf unsloth/gemma-4-26B-A4B-it-GGUF:Q4_K_M -c 8192 " + more
            plan = json.loads(run("plan", "--gpu", "h200-sxm", "--json", "--", *lone.split()).stdout)
            self.assertIn("drafter_unknown", [w["id"] for w in plan["warnings"]], more)

    def test_nothing_fits_for_certain_says_where_help_is(self):
        result = run("max", "qwen3-8b", "--gpu", "rtx-3060-12", "--ctx", "8k", "--of", "concurrency")
        self.assertIn("vramwise plan", result.stdout)


if __name__ == "__main__":
    unittest.main()
