#!/usr/bin/env python3
"""`vramwise simulate` and what lengths add to plan, max and gpus, as a person meets them."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

BINARY = os.environ["VRAMWISE"]
SERVED = ["llama-3.1-8b", "--gpu", "l40s", "--ctx", "8k"]


def run(*arguments, check=None, **more):
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "80"}
    done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, env=environment, timeout=120, **more)
    if check is not None:
        assert done.returncode == check, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


class Simulate(unittest.TestCase):
    def test_the_answer_of_one_command(self):
        out = run("simulate", *SERVED, "--lengths", "chat", "--ttft", "1s", "--tpot", "80ms", "--requests", "2000",
                  "--width", "80", check=0).stdout
        first = " ".join(out.split("\n\n")[0].split())
        for part in ("requests/s (", "first token within 1.00 s and 80 ms a token", "95 %", "users at p99 of occupancy",
                     "if all took 8,192 tokens", "per million answer tokens", "limited by"):
            self.assertIn(part, first)
        for line in out.splitlines():
            self.assertLessEqual(len(line), 80, line)
        self.assertIn("cache in use over time", out)

    def test_a_trace_from_a_file_and_its_faults(self):
        with tempfile.TemporaryDirectory() as folder:
            good = pathlib.Path(folder, "good.csv")
            rows = "".join(f"{i * 0.2},{50 + i % 7},{10 + i % 5}\n" for i in range(500))
            good.write_text("arrival_seconds,prompt_tokens,output_tokens\n" + rows)
            answer = json.loads(run("simulate", *SERVED, "--lengths", str(good), "--replay", "1", "--json", check=0).stdout)
            self.assertEqual(answer["simulate"]["run"]["requests"], 500)
            self.assertEqual(answer["simulate"]["load"]["kind"], "trace")
            bad = pathlib.Path(folder, "bad.csv")
            bad.write_text("arrival_seconds,prompt_tokens,output_tokens\n0,1,2\n1,many,2\n")
            refused = run("simulate", *SERVED, "--lengths", str(bad), check=3)
            self.assertIn("bad.csv:3", refused.stderr)
            self.assertIn("'many'", refused.stderr)
            other = pathlib.Path(folder, "other.csv")
            other.write_text("in,out\n" + "5,6\n" * 400)
            self.assertIn("--columns", run("simulate", *SERVED, "--lengths", str(other), check=3).stderr)
            run("simulate", *SERVED, "--lengths", str(other), "--columns", "prompt=in,output=out", "--rate", "2",
                "--requests", "500", check=0)

    def test_pictures(self):
        with tempfile.TemporaryDirectory() as folder:
            svg, page = pathlib.Path(folder, "o.svg"), pathlib.Path(folder, "o.html")
            run("simulate", *SERVED, "--lengths", "chat", "--rate", "1", "--requests", "500", "--svg", str(svg), "--html",
                str(page), check=0)
            self.assertIn("<polyline", svg.read_text())
            self.assertIn("first token", page.read_text())
            self.assertNotIn("<script", page.read_text())

    def test_saturation_is_what_the_pool_allows(self):
        for rate in ("1", "1.5"):
            out = json.loads(run("simulate", "Qwen/Qwen3-8B", "--gpu", "l4", "--ctx", "8k", "--lengths", "chat", "--rate", rate,
                                 "--requests", "2000", "--json", check=0).stdout)
            figures = out["simulate"]
            served = figures["throughput"]["requests_per_second"]
            self.assertLess(served, 0.9 * float(rate))
            self.assertAlmostEqual(figures["load"]["saturation_rate_per_second"], served, delta=0.01)
            self.assertGreater(figures["load"]["load"], 1)
            self.assertIn("overload", [warning["id"] for warning in out["warnings"]])

    def test_lengths_are_said_to_be_medians(self):
        out = run("simulate", *SERVED, "--lengths", "chat", "--rate", "1", "--requests", "500", check=0).stdout
        self.assertIn("prompts of 1,012 tokens (median; p95 4,102)", " ".join(out.split()))

    def test_a_promise_that_cannot_be_kept_is_a_no(self):
        out = run("simulate", *SERVED, "--lengths", "chat", "--ttft", "1ms", "--requests", "500", check=1).stdout
        self.assertIn("No rate keeps", out)

    def test_ctrl_c_answers_with_what_is_known(self):
        process = subprocess.Popen([BINARY, "simulate", *SERVED, "--lengths", "chat", "--rate", "2", "--requests", "50000000",
                                    "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        out, progress = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        answer = json.loads(out)
        self.assertTrue(answer["simulate"]["run"]["stopped"])
        self.assertIn("Stopped early", answer["simulate"]["answer"])
        self.assertIn("requests so far", progress)

    def test_a_search_that_is_interrupted_claims_no_more_than_it_knows(self):
        process = subprocess.Popen([BINARY, "simulate", *SERVED, "--lengths", "chat", "--ttft", "1s", "--requests", "50000000", "--json"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        time.sleep(3)  # past the first rate, at which more requests wait than a run keeps track of
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        block = json.loads(out)["simulate"]
        self.assertIn("had not come to one", block["answer"])
        self.assertNotIn("slo", block)

    def test_priorities_are_said_to_be_left_out(self):
        out = " ".join(run("simulate", "--gpu", "l40s", "--lengths", "chat", "--rate", "2", "--requests", "500", "--", "vllm", "serve",
                           "meta-llama/Llama-3.1-8B", "--max-model-len", "8192", "--scheduling-policy", "priority", check=0).stdout.split())
        self.assertIn("first come, first served: the order 'priority' is not", out)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "t.csv")
            file.write_text("arrival_seconds,prompt_tokens,output_tokens,priority\n" + "".join(f"{i},100,50,{i % 3}\n" for i in range(120)))
            self.assertIn("priorities are not followed", " ".join(run("simulate", *SERVED, "--lengths", str(file), "--replay", "1").stdout.split()))

    def test_requests_come_one_way(self):
        for flags in (("--rate", "5", "--users", "8"), ("--users", "8", "--replay", "1"), ("--rate", "5", "--replay", "1")):
            out = " ".join(run("simulate", *SERVED, "--lengths", "chat", *flags, check=3).stderr.split())
            self.assertIn("both say how requests come", out)

    def test_tables_of_other_makers_are_read(self):
        rows = "".join(f"{i - 50}#{400 + i}#{50 + i}\n" for i in range(120))
        load = ["simulate", *SERVED, "--replay", "1", "--json", "--lengths"]
        with tempfile.TemporaryDirectory() as folder:
            answers = []
            for name, mark, end in (("plain", ",", "\n"), ("excel", ";", "\r\n"), ("tabs", "\t", "\n"), ("mac", ",", "\r")):
                file = pathlib.Path(folder, f"{name}.csv")
                text = ("arrival_seconds#prompt_tokens#output_tokens\n" + rows).replace("#", mark).replace("\n", end)
                file.write_bytes(text.encode("utf-8-sig"))
                answers.append(json.loads(run(*load, str(file), check=0).stdout)["simulate"]["ttft_seconds"])
            self.assertEqual(answers, [answers[0]] * 4)
            file.write_bytes(text.encode("utf-16"))
            self.assertIn("save it as UTF-8", run(*load, str(file), check=3).stdout)
            file.write_text('[{"arrival_seconds": 1}]')
            self.assertIn("JSON array", run(*load, str(file), check=3).stdout)

    def test_results_of_vllm_bench_are_measured_speeds(self):
        one = {"max_concurrency": 1, "request_rate": "inf", "completed": 20, "total_input_tokens": 10240, "total_output_tokens": 5120,
               "output_throughput": 80.0, "median_itl_ms": 12.1, "median_ttft_ms": 62.0}
        eight = {**one, "max_concurrency": 8, "completed": 160, "output_throughput": 540.0}
        load = [*SERVED, "--lengths", "chat", "--rate", "2", "--requests", "500", "--json"]
        words = json.loads(run("simulate", *load, "--measured", "itl=12.1ms,ttft=62ms,prompt=512,output=256", "--measured",
                               "users=8,tokens=540", check=0).stdout)["simulate"]
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for name, result in (("one", one), ("eight", eight)):
                files.append(pathlib.Path(folder, f"{name}.json"))
                files[-1].write_text(json.dumps(result))
            read = json.loads(run("simulate", *load, "--measured", str(files[0]), "--measured", str(files[1]), check=0).stdout)["simulate"]
            self.assertEqual(read["step_time"], words["step_time"])
            files[0].write_text(json.dumps({**one, "max_concurrency": None}))
            self.assertIn("--max-concurrency 1", run("simulate", *load, "--measured", str(files[0]), check=3).stdout)
            files[0].write_text(json.dumps({**one, "request_rate": 4.0}))
            self.assertIn("at a rate", run("simulate", *load, "--measured", str(files[0]), check=3).stdout)

    def test_a_recording_drawn_in_pieces_has_half_widths(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder, "t.csv")
            rows = [f"{second},{100 + second % 90},{20 + second // 60}" for second in range(0, 1200, 2)]
            trace.write_text("arrival_seconds,prompt_tokens,output_tokens\n" + "\n".join(rows) + "\n")
            replay = ["simulate", *SERVED, "--lengths", str(trace), "--requests", "600", "--json", "--replay"]
            whole = json.loads(run(*replay, "1", check=0).stdout)["simulate"]
            drawn = json.loads(run(*replay, "1,pieces=5m", check=0).stdout)["simulate"]
            self.assertEqual(whole["run"]["replications"], 1)
            self.assertGreaterEqual(drawn["run"]["replications"], 8)
            self.assertGreater(drawn["throughput"]["half_width"], 0)
            self.assertEqual(drawn["load"]["block_seconds"], 300)
            self.assertIn("no two pieces", run(*replay, "1,pieces=1h", check=3).stdout)
            self.assertIn("under five minutes", run(*replay[:-2], "--replay", "1,pieces=60s", check=0).stdout)

    def test_an_interrupted_search_answers(self):
        for of in ("rate", "users"):
            process = subprocess.Popen([BINARY, "max", *SERVED, "--lengths", "chat", "--ttft", "1s", "--requests", "50000000", "--of", of,
                                        "--tpot", "1s", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if of == "rate":
                process.stderr.read(1)  # it has begun, and says so
            else:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
            # A search that is over sooner than it can be interrupted is whole; one that has not begun dies.
            if process.returncode == 130:
                block = json.loads(out)["max"]
                self.assertTrue(block["stopped"])
                self.assertIn("Stopped early", block["answer"])
            else:
                self.assertIn((of, process.returncode), (("users", 0), ("users", -signal.SIGINT)))

    def test_unknown_names_are_named(self):
        self.assertIn("chat", run("simulate", *SERVED, "--lengths", "chta", check=4).stderr)
        self.assertIn("rate", run("simulate", *SERVED, "--lengths", "chat", "--rate", "fast", check=3).stderr)

    def test_measured_speeds_replace_the_models(self):
        load = [*SERVED, "--lengths", "chat", "--rate", "2", "--requests", "500", "--json"]
        figures = json.loads(run("simulate", *load, "--measured", "itl=12.1ms,ttft=62ms,prompt=512,output=256", "--measured",
                                 "users=8,tokens=540", check=0).stdout)["simulate"]
        self.assertTrue(figures["step_time"]["calibrated"])
        self.assertAlmostEqual(figures["step_time"]["one_user_ms"], 12.1, delta=0.2)
        # A third point bends the step: the server is then as quick as was seen.
        curve = [*SERVED[:3], "--lengths", "random-1024-128", "--users", "64", "--json", "--measured",
                 "itl=12.1ms,ttft=62ms,prompt=1024,output=128", "--measured", "users=8,tokens=480"]
        rate = lambda *more: json.loads(run("simulate", *curve, *more, check=0).stdout)["simulate"]["throughput"]["output_tokens_per_second"]
        seen = 0.8 * rate()
        self.assertAlmostEqual(rate("--measured", f"users=64,tokens={seen:.0f}") / seen, 1, delta=0.05)
        self.assertIn("belong together", run("simulate", *curve, "--measured", "users=64", check=3).stdout)
        with tempfile.TemporaryDirectory() as folder:
            one, eight = pathlib.Path(folder, "one.json"), pathlib.Path(folder, "eight.json")
            spread = {"n": 9, "mean": 0.1}
            one.write_text(json.dumps({"loadtest": {"load": {"users": 1}, "itl_seconds": {**spread, "p50": 0.0121},
                                                    "ttft_seconds": {**spread, "p50": 0.062},
                                                    "lengths": {"prompt_tokens_mean": 512.2, "output_tokens_mean": 256}}}))
            eight.write_text(json.dumps({"loadtest": {"load": {"users": 8}, "throughput": {"output_tokens_per_second": 540}}}))
            reports = json.loads(run("simulate", *load, "--measured", str(one), "--measured", str(eight), check=0).stdout)["simulate"]
        self.assertEqual(reports["ttft_seconds"], figures["ttft_seconds"])
        self.assertIn("lengths that it was measured with", run("simulate", *load, "--measured", "itl=12ms,ttft=62ms", check=3).stdout)
        self.assertIn("--measured", run("simulate", *SERVED, "--lengths", "chat", "--measured", "speed=9", check=3).stderr)

    def test_pipeline_stages_work_at_the_same_time(self):
        load = ["llama-3.1-8b", "--gpu", "l40s", "--ctx", "8k", "--lengths", "chat", "--requests", "4000", "--users", "64", "--json"]
        one = json.loads(run("simulate", *load, check=0).stdout)["simulate"]
        two = json.loads(run("simulate", *load, "--count", "2", "-o", "pipeline_parallel_size=2", check=0).stdout)
        ratio = two["simulate"]["throughput"]["requests_per_second"] / one["throughput"]["requests_per_second"]
        self.assertTrue(1.2 < ratio < 2.1, ratio)
        self.assertNotIn("servers", two["simulate"])
        self.assertIn("pipeline", [a["id"] for a in two["assumptions"]])

    def test_drafts_count_when_their_acceptance_is_given(self):
        load = [*SERVED, "--lengths", "chat", "--users", "1", "--requests", "200", "--json"]
        drafting = ["--draft", "llama-3.2-1b", "-o", "speculative_config.num_speculative_tokens=3"]
        none = json.loads(run("simulate", *load, *drafting, check=0).stdout)
        self.assertIn("--acceptance", next(w["text"] for w in none["warnings"] if w["id"] == "acceptance"))
        known = json.loads(run("simulate", *load, *drafting, "--acceptance", "80%", check=0).stdout)
        self.assertLess(known["simulate"]["tpot_seconds"]["p50"], 0.7 * none["simulate"]["tpot_seconds"]["p50"])
        self.assertIn("drafts no tokens", run("simulate", *load, "--acceptance", "0.8", check=3).stdout)

    def test_servers_behind_a_router(self):
        load = ["--lengths", "chat", "--requests", "2000", "--json"]
        one = json.loads(run("simulate", *SERVED, *load, "--rate", "2", check=0).stdout)["simulate"]
        three = json.loads(run("simulate", *SERVED, *load, "--rate", "6", "--replicas", "3", check=0).stdout)["simulate"]
        self.assertEqual(three["servers"], {"count": 3, "router": "least_requests"})
        self.assertEqual(three["users"]["p99"], 3 * one["users"]["p99"])
        self.assertAlmostEqual(three["throughput"]["requests_per_second"], 6, delta=0.4)
        self.assertAlmostEqual(three["cost"]["usd_per_hour"], 3 * one["cost"]["usd_per_hour"])
        # The engine's own data-parallel servers are on the cards that are there.
        own = json.loads(run("simulate", "llama-3.1-8b", "--gpu", "l40s", "--ctx", "8k", "--count", "3", "-o", "data_parallel_size=3", *load,
                             "--rate", "6", check=0).stdout)["simulate"]
        self.assertEqual(own["throughput"], three["throughput"])
        self.assertIn("--replicas", run("simulate", *SERVED, "--lengths", "chat", "--replicas", "2,nearest", check=3).stderr)

    def test_the_ranks_of_data_parallel_attention_are_servers(self):
        attention = {"sglang": ["tp_size=8", "dp_size=8", "enable_dp_attention=true", "max_running_requests=80"],
                     "trtllm": ["tensor_parallel_size=8", "enable_attention_dp=true", "max_batch_size=10"]}
        for engine, options in attention.items():
            asked = ["deepseek-ai/DeepSeek-V3", "-e", engine, "--gpu", "h200", "--count", "8", "--ctx", "8k", "--json"]
            for option in options:
                asked += ["-o", option]
            planned = json.loads(run("plan", *asked).stdout)
            told = json.loads(run("simulate", *asked, "--lengths", "chat", "--rate", "1", "--requests", "500").stdout)["simulate"]
            self.assertEqual(told["servers"]["count"], 8, engine)
            self.assertEqual(told["users"]["worst_case"], planned["users"], engine)
            self.assertEqual(planned["users"], 80, engine)

    def test_a_figure_out_of_range_is_told_in_the_words_of_the_option(self):
        for option, value in (("--share", "200%"), ("--share", "0"), ("--rate", "0"), ("--rate", "1e99"), ("--users", "0"),
                              ("--ttft", "0"), ("--tpot", "0ms"), ("--price", "0"), ("--requests", "5")):
            told = run("simulate", *SERVED, "--lengths", "chat", option, value, check=3).stderr
            self.assertIn(f"'{value}' is out of range", told)
            self.assertIn(f"--> {option}", told)


class Others(unittest.TestCase):
    def test_plan_with_lengths(self):
        answer = json.loads(run("plan", "llama-3.1-8b", "--gpu", "l40s", "--lengths", "chat", "--json").stdout)
        users = answer["workload"]["users"] if answer["starts"] else None
        lever = answer["levers"][0]
        self.assertEqual(lever["ids"], ["max_sequence_p99"])
        self.assertIn("--max-model-len", lever["option"])
        if users:
            self.assertGreater(users["p99"], users["worst_case"])
        text = run("plan", "llama-3.1-8b", "--gpu", "h100-sxm", "--lengths", "chat").stdout
        self.assertIn("With these lengths", text)

    def test_max_of_users_and_rate(self):
        for of in ("users", "rate"):
            out = run("max", *SERVED, "--of", of, "--lengths", "chat-short", "--ttft", "1s", "--tpot", "80ms", "--requests", "500",
                      "--json", check=0)
            self.assertGreater(json.loads(out.stdout)["max"]["value"], 1)
        self.assertIn("--ttft", run("max", *SERVED, "--of", "rate", "--lengths", "chat", check=3).stderr)


if __name__ == "__main__":
    unittest.main()
