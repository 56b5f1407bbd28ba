#!/usr/bin/env python3
"""`watch` and `loadtest` against a server that can do everything wrong, and cards that are not there."""

import concurrent.futures
import html.parser
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from chat_double import ChatDouble  # noqa: E402
from driver_double import FakeMachine, build, uuid  # noqa: E402

VRAMWISE = os.environ.get("VRAMWISE", "build/release/bin/vramwise")
MIB = 1 << 20
QUICK = ("--users", "4", "--ramp", "0.3", "--hold", "1.5", "--drain", "0.5", "--stall", "0.7", "--timeout", "2",
         "--output-tokens", "10", "--quiet")


class LiveCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not hasattr(LiveCase, "built"):
            LiveCase.built = tempfile.TemporaryDirectory()
            LiveCase.driver_file = build(Path(cls.built.name))

    def setUp(self):
        self.machine = FakeMachine()
        self.addCleanup(self.machine.close)

    def card(self, used=70000):
        self.machine.driver(self.driver_file, f"card NVIDIA H100 80GB HBM3;{uuid(0)};81559;469;{used};81090;0;97;0;0")

    def double(self, *arguments, **options):
        server = ChatDouble(*arguments, **options)
        server.__enter__()
        self.addCleanup(server.__exit__)
        return server

    def run_it(self, *arguments, timeout=60, **env):
        # A proxy that nobody listens at: servers on this machine are reached all the same.
        return subprocess.run([VRAMWISE, *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                              env=self.machine.environment(http_proxy="http://127.0.0.1:9", **env))

    def answer(self, *arguments, status=0, **env):
        done = self.run_it(*arguments, "--json", **env)
        self.assertEqual(done.returncode, status, done.stdout[-2000:] + done.stderr)
        return json.loads(done.stdout)

    def start(self, *arguments, **options):
        process = subprocess.Popen([VRAMWISE, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env=self.machine.environment(), **options)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()


class Watch(LiveCase):
    def look(self, *arguments, status=0):
        return self.answer("watch", *arguments, "--once", status=status)["watch"]

    def test_engines(self):
        for kind, engine in (("vllm", "vllm"), ("sglang", "sglang"), ("llama.cpp", "llama.cpp"), ("trtllm", "trtllm")):
            server = self.double(metrics=kind)
            server.running, server.waiting, server.generated = 7, 3, 1000
            found = self.look(server.url)["engine"]
            self.assertEqual((found["name"], found["running"], found["waiting"]), (engine, 7, 3))
            self.assertEqual(found.get("cache_tokens"), None if kind == "llama.cpp" else 320000)

    def test_what_the_last_minute_brought(self):
        server = self.double()
        self.addCleanup(setattr, server, "on_step", lambda: None)
        watching = self.start("watch", server.url, "--interval", "0.5", "--for", "3", "--json=lines")
        time.sleep(0.8)
        server.times["first"].values += [0.2] * 9 + [4.0]
        server.times["gap"].values += [0.012] * 100
        server.prompted, server.found, server.answered, server.generated = 1000, 300, 10, 100
        lines = [json.loads(line)["watch"]["engine"] for line in watching.communicate(timeout=30)[0].splitlines()]
        minute = lines[-1]["last_minute"]
        self.assertEqual((minute["requests"], minute["prefix_hit_share"]), (10, 0.3))
        self.assertAlmostEqual(minute["ttft_seconds"]["mean"], 0.58)
        # Nine in (0.1, 0.25], one in (2.5, 5]: half way into the last bucket at p95.
        self.assertAlmostEqual(minute["ttft_seconds"]["p95"], 3.75)
        self.assertAlmostEqual(minute["itl_seconds"]["mean"], 0.012)
        shown = self.run_it("watch", server.url, "--for", "1", "--interval", "0.3").stdout
        self.assertIn("running 0", shown)

    def test_cards_beside_the_plan(self):
        self.card()
        server = self.double()
        server.running = 60
        watch = self.look(server.url, "llama-3.1-8b", "--gpu", "h100-sxm", "--ctx", "8k")
        (card,) = watch["cards"]
        plan = self.answer("plan", "llama-3.1-8b", "--gpu", "h100-sxm", "--ctx", "8k")
        self.assertEqual(card["used_bytes"], 70000 * MIB)
        self.assertEqual(card["planned_bytes"], plan["devices"][0]["reserved_bytes"])
        alarms = {a["id"]: a for a in watch["alarms"]}
        self.assertIn(f"{plan['kv']['pool_tokens']:,}", alarms["cache_below_plan"]["text"])
        self.assertIn("users_over_plan", alarms)
        self.assertNotIn("over_plan", alarms)

    def test_a_saved_plan(self):
        self.card(used=78000)
        path = self.machine.at / "plan.json"
        plan = self.answer("plan", "llama-3.1-8b", "--gpu", "h100-sxm", "--ctx", "8k")
        request = json.loads(self.run_it("plan", "llama-3.1-8b", "--gpu", "h100-sxm", "--ctx", "8k", "--print-request").stdout)
        for document in (plan, {"answer": plan}, {"request": request}, request):
            path.write_text(json.dumps(document))
            watch = self.look("--plan", path)
            self.assertEqual(watch["cards"][0]["planned_bytes"], plan["devices"][0]["reserved_bytes"])
            self.assertIn("over_plan", [a["id"] for a in watch["alarms"]])
        for text, status in (("{}", 3), ("[", 3), ('{"answer": {"error": {"code": "not_found", "message": "x"}}}', 4)):
            path.write_text(text)
            self.assertEqual(self.run_it("watch", "--plan", path, "--once").returncode, status)

    def test_urgent_alarms_and_exit_status(self):
        self.card(used=81000)
        watch = self.look(status=1)
        self.assertEqual([(a["id"], a["urgent"]) for a in watch["alarms"]], [("card_full", True)])
        self.card(used=70000)
        server = self.double(max_running=100)
        server.running = 99
        self.assertIn("cache_full", [a["id"] for a in self.look(server.url, status=1)["alarms"]])

    def test_forecast(self):
        self.card()
        server = self.double(max_running=1000)
        process = self.start("watch", server.url, "--json=lines", "--interval", "0.1", "--for", "3")
        lines = []
        for i, line in enumerate(process.stdout):
            lines.append(json.loads(line)["watch"])
            server.running = 100 + 20 * i  # two percent of the cache a look
            self.card(used=70000 + 50 * i)
        self.assertEqual(process.wait(10), 0)
        self.assertGreater(len(lines), 12)
        last = {a["id"]: a for a in lines[-1]["alarms"]}
        filling = last["cache_filling"]
        use = lines[-1]["engine"]["cache_use"]
        speed = 0.02 / ((lines[-1]["elapsed_seconds"] - lines[-11]["elapsed_seconds"]) / 10)
        self.assertAlmostEqual(filling["in_seconds"], (0.95 - use) / speed, delta=0.35 * (0.95 - use) / speed + 0.5)
        self.assertIn("card_filling", last)
        # Nothing moves, nothing is foretold.
        self.assertEqual(lines[2]["alarms"], [])

    def test_preemptions(self):
        server = self.double()
        process = self.start("watch", server.url, "--json=lines", "--interval", "0.1", "--for", "60")
        alarms = ""
        for i, line in enumerate(process.stdout):
            server.preemptions = 3 if i > 2 else 0
            alarms = json.dumps(json.loads(line)["watch"]["alarms"])
            if "3 requests were put back" in alarms:
                process.terminate()
                break
        self.assertIn("3 requests were put back", alarms)

    def test_no_server_and_wrong_ones(self):
        free = socket.socket()
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        watch = self.look(f"http://127.0.0.1:{port}", status=1)
        self.assertIn("no answer from", watch["engine_fault"])
        for fault, text in (("404 Not Found", "--metrics"), ("401 Unauthorized", "--key-env"), ("rubbish", "no metrics of")):
            server = self.double()
            server.metrics_fault = fault
            self.assertIn(text, self.look(server.url, status=1)["engine_fault"])
        server = self.double()
        server.metrics_fault = "stall"
        began = time.monotonic()
        self.assertIn("not done within", self.look(server.url, status=1)["engine_fault"])
        self.assertLess(time.monotonic() - began, 15)

    def test_prometheus(self):
        self.card()
        server = self.double()
        server.running = 5
        text = self.run_it("watch", server.url, "llama-3.1-8b", "--gpu", "h100-sxm", "--ctx", "8k", "--prometheus").stdout
        for line in text.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE) vramwise_\w+ .+|vramwise_\w+(\{[^}]*\})? -?[0-9.e+]+)$")
        self.assertIn("vramwise_engine_requests_running 5\n", text)
        self.assertIn(f'vramwise_gpu_memory_used_bytes{{gpu="0",name="NVIDIA H100 80GB HBM3",id="{uuid(0)}"}} {70000 * MIB}\n', text)
        self.assertIn("vramwise_gpu_memory_planned_bytes", text)

    def test_listen(self):
        self.card()
        process = self.start("watch", "--listen", "0", "--interval", "0.2")
        url = re.search(r"http://127.0.0.1:\d+/metrics", process.stderr.readline())[0]
        self.assertIn(b"vramwise_gpu_memory_free_bytes", urllib.request.urlopen(url, timeout=10).read())
        with self.assertRaises(urllib.error.HTTPError):
            urllib.request.urlopen(url.replace("metrics", "other"), timeout=10)
        # Somebody who says nothing does not keep the others out.
        silent = socket.create_connection(("127.0.0.1", int(url.split(":")[2].split("/")[0])))
        rubbish = socket.create_connection(silent.getpeername())
        rubbish.sendall(b"\x00" * 20000)
        self.assertIn(b"vramwise_alarm", urllib.request.urlopen(url, timeout=10).read())
        silent.close()
        rubbish.close()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(10), 0)
        self.assertEqual(self.run_it("watch", "--listen", "x").returncode, 3)

    def test_a_pipe_gets_a_line_a_look(self):
        self.card()
        server = self.double()
        done = self.run_it("watch", server.url, "--interval", "0.1", "--for", "0.6")
        self.assertNotIn("\x1b", done.stdout)
        self.assertGreater(len(done.stdout.splitlines()), 2)
        self.assertRegex(done.stdout.splitlines()[0], r"^00:00:00  GPU 0 68.36 of 79.19 GiB  cache 0.0 %  running 0  waiting 0")

    def test_a_reader_that_goes_away(self):
        self.card()
        process = self.start("watch", "--interval", "0.1")
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(10), 0)
        process.stdout = None

    def terminal(self, *arguments, keys=None, columns=80, term="xterm", seconds=2.0, **env):
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(VRAMWISE, [VRAMWISE, *map(str, arguments)],
                      self.machine.environment(TERM=term, COLUMNS=str(columns), **env))
        import fcntl
        import struct
        import termios
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        out, sent = b"", False
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if keys and not sent and time.monotonic() > end - 20 + seconds:
                os.write(fd, keys)
                sent = True
            if not select.select([fd], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(fd, 65536)
            except OSError:
                break
            if not data:
                break
            out += data
        os.close(fd)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), out.decode()

    def test_the_picture(self):
        self.card()
        server = self.double()
        server.running = 12
        status, out = self.terminal("watch", server.url, "--interval", "0.2", "--for", "3")
        self.assertEqual(status, 0)
        self.assertEqual((out.count("\x1b[?25l"), out.count("\x1b[?25h")), (1, 1))
        self.assertTrue(out.endswith("\x1b[?25h"))
        frames = re.split(r"\x1b\[\d+A\r", out)
        self.assertGreater(len(frames), 4)  # of some fifteen: a busy machine shows fewer
        for frame in frames:
            lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", frame).replace("\r", "").strip().split("\n")
            self.assertLessEqual(max(map(len, lines)), 80, lines)
            self.assertIn("68.36 of 79.19 GiB", lines[1])
        self.assertNotIn("\x1b[2J", out)  # never cleared, drawn over

    def test_narrow_dumb_and_colourless(self):
        self.card()
        status, out = self.terminal("watch", "--interval", "0.2", "--for", "0.8", columns=40)
        for line in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", out).split("\n"):
            self.assertLessEqual(len(line.strip()), 40)
        status, out = self.terminal("watch", "--interval", "0.2", "--for", "0.8", term="dumb")
        self.assertNotIn("\x1b", out)
        status, out = self.terminal("watch", "--interval", "0.2", "--for", "0.8", NO_COLOR="1")
        self.assertNotRegex(out, r"\x1b\[[0-9]+m")

    def test_control_c(self):
        self.card()
        began = time.monotonic()
        status, out = self.terminal("watch", "--interval", "5", keys=b"\x03", seconds=1.0)
        self.assertEqual(status, 0)
        self.assertTrue(out.rstrip().endswith("\x1b[?25h"))
        self.assertLess(time.monotonic() - began, 4)

    def test_names_cannot_speak_to_the_terminal(self):
        self.machine.driver(self.driver_file, f"card evil\x1b[2J;{uuid(0)};81559;469;1;81090;0;97;0;0")
        self.assertNotIn("\x1b", self.run_it("watch", "--once").stdout)

    def test_usage(self):
        self.assertEqual(self.run_it("watch", "--interval", "0", "--once").returncode, 3)
        self.assertEqual(self.run_it("watch", "--interval", "soon", "--once").returncode, 3)
        self.assertEqual(self.run_it("watch", "--nonsense").returncode, 2)
        self.assertEqual(self.run_it("watch", "ftp://x", "--once").returncode, 3)
        self.assertEqual(self.run_it("watch", "http://", "--once").returncode, 3)


class Loadtest(LiveCase):
    def test_holds(self):
        self.card()
        server = self.double(tokens_per_second=100)
        report = self.answer("loadtest", server.url, "--users", "8", "--ramp", "0.5", "--hold", "3", "--prompt-tokens",
                             "50-150", "--output-tokens", "20-40", "--quiet")["loadtest"]
        self.assertEqual(report["outcome"], "held")
        self.assertEqual((report["model"], report["requests"]["errors"]), ("tiny", 0))
        self.assertEqual(report["load"]["most_streams"], 8)
        engine = report["engine"]
        self.assertEqual(engine["most_running"], 8)
        seen = [moment["cache_use"] for moment in report["timeline"] if "cache_use" in moment and moment["seconds"] >= 0.5]
        self.assertTrue(min(seen) <= engine["mean_cache_use"] <= max(seen))
        # Eight users hold 8 x (100 + 15 + 7.5) of 320,000 tokens by their lengths.
        self.assertAlmostEqual(engine["expected_cache_use"], 8 * 122.5 / 320000, delta=0.0008)
        self.assertGreater(engine["expected_p99_cache_use"], engine["expected_cache_use"])
        counted = engine["counted"]
        self.assertGreater(counted["requests"], 2)
        self.assertAlmostEqual(counted["prefix_hit_share"], 0.25, delta=0.01)
        for what, least in (("itl_seconds", 0.009), ("ttft_seconds", 0.009), ("request_seconds", 0.2), ("queue_seconds", 0)):
            values = server.times[{"itl": "gap", "ttft": "first", "request": "request", "queue": "queue"}[what.split("_")[0]]].values
            # The server also counts what is asked before the load begins.
            self.assertTrue(max(least, min(values)) <= counted[what]["mean"] <= max(values), (what, counted[what]))
        lengths = report["lengths"]
        self.assertTrue(lengths["counted_by_server"])
        self.assertAlmostEqual(lengths["prompt_tokens_mean"], lengths["asked_prompt_tokens_mean"], delta=1)
        self.assertAlmostEqual(lengths["output_tokens_mean"], lengths["asked_output_tokens_mean"], delta=0.01)
        for body in server.requests[2:]:
            self.assertTrue(20 <= body["max_tokens"] <= 40 and body["stream"] and body["ignore_eos"])
            self.assertTrue(50 - 9 <= len(body["messages"][0]["content"].split()) <= 150)
        # No two prompts share a beginning that a prefix cache could hold.
        starts = [" ".join(body["messages"][0]["content"].split()[:16]) for body in server.requests]
        self.assertEqual(len(set(starts)), len(starts))
        (card,) = report["memory"]
        self.assertEqual((card["peak_used_bytes"], card["headroom_bytes"]), (70000 * MIB, 11090 * MIB))
        self.assertGreater(report["itl_seconds"]["p50"], 0.009)
        self.assertGreater(report["ttft_seconds"]["p50"], 0.009)
        self.assertGreater(report["throughput"]["output_tokens_per_second"], 100)

    def test_metrics_at_another_path(self):
        # Requests of two thirds of a second: a look each second cannot meet the gap between two every time.
        server = self.double(metrics="trtllm", owner="tensorrt_llm", tokens_per_second=60)
        report = self.answer("loadtest", server.url, "--users", "4", "--ramp", "0", "--hold", "5", "--output-tokens", "40", "--quiet")["loadtest"]
        engine = report["engine"]
        self.assertEqual((engine["name"], engine["most_running"], engine["cache_tokens"]), ("trtllm", 4, 320000))
        self.assertGreater(engine["counted"]["itl_seconds"]["n"], 100)

    def test_two_texts_of_the_metrics_are_a_measured_speed(self):
        # One user alone and eight, each with a text before and one after: the step follows from what the server counted.
        load = ["llama-3.1-8b", "--gpu", "l40s", "--ctx", "8k", "--lengths", "chat", "--rate", "2", "--requests", "500"]
        with tempfile.TemporaryDirectory() as folder:
            for kind in ("vllm", "sglang", "trtllm", "llama.cpp"):
                measured, words = [], []
                for users in (1, 8):
                    server = self.double(metrics=kind, tokens_per_second=100, first_token=0.05)
                    names = [Path(folder, f"{users}{when}.prom") for when in ("before", "after")]
                    names[0].write_text(server.exposition())
                    self.run_it("loadtest", server.url, "-u", users, "--ramp", "0", "--hold", "3", "--prompt-tokens", "200", "--output-tokens",
                                "8", "--quiet")
                    names[1].write_text(server.exposition())
                    known = ",prompt=200,output=8" if kind == "llama.cpp" else ""
                    measured += ["--measured", f"before={names[0]},after={names[1]},users={users}{known}"]
                    # The same in figures, from the double's own book.
                    times = {name: sum(histogram.values) for name, histogram in server.times.items()}
                    gap, first = (times[name] / len(server.times[name].values) for name in ("gap", "first"))
                    lengths = [round(total / server.answered) for total in (server.prompted, server.generated)]
                    if kind == "llama.cpp":
                        lengths, gap = (200, 8), times["gap"] / server.generated
                        first = times["first"] / (server.generated / 8)
                    busy = times["first"] + times["gap"] if kind == "llama.cpp" else times["request"]
                    words += ["--measured", f"itl={gap * 1000:.6f}ms,ttft={first * 1000:.6f}ms,prompt={lengths[0]},output={lengths[1]}"
                              if users == 1 else f"users=8,tokens={server.generated * 8 / busy:.6f}"]
                found = self.answer("simulate", *load, *measured)["simulate"]["step_time"]
                said = self.answer("simulate", *load, *words)["simulate"]["step_time"]
                self.assertTrue(found["calibrated"], kind)
                for key in ("one_user_ms", "sixteen_users_ms", "prefill_1000_tokens_ms"):
                    self.assertAlmostEqual(found[key], said[key], delta=0.01 * said[key], msg=f"{kind} {key}")
            # What is wrong with them is said: swapped, of two servers, no metrics, nothing said of the users.
            def refused(value, code=3):
                done = self.run_it("simulate", *load, "--measured", value)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                return " ".join((done.stdout + done.stderr).split())
            self.assertIn("smaller afterwards than before", refused(f"before={names[1]},after={names[0]},users=8"))
            self.assertIn("before and after belong together", refused(f"after={names[0]},users=8"))
            other = Path(folder, "other.prom")
            other.write_text(self.double().exposition())
            self.assertIn("two servers", refused(f"before={other},after={names[1]},users=8"))
            self.assertIn("how many users", refused(f"before={names[0]},after={names[1]},prompt=200,output=8"))
            other.write_bytes(b"\x00\xff" * 1000)
            self.assertIn("no metrics of vLLM", refused(f"before={other},after={names[1]},users=8"))

    def test_prompts_are_measured_out(self):
        # Another tokenizer: 1.7 tokens a word, 40 of template.
        server = self.double(tokens_per_word=1.7, template_tokens=40)
        report = self.answer("loadtest", server.url, *QUICK, "--prompt-tokens", "1000")["loadtest"]
        self.assertAlmostEqual(report["lengths"]["prompt_tokens_mean"], 1000, delta=3)
        self.assertAlmostEqual(report["load"]["tokens_per_word"], 1.7, delta=0.01)
        report = self.answer("loadtest", server.url, *QUICK, "--prompt-tokens", "300", "--api", "completions")["loadtest"]
        self.assertAlmostEqual(report["lengths"]["prompt_tokens_mean"], 300, delta=3)

    def test_lengths_and_users_of_the_plan(self):
        self.card()
        server = self.double(tokens_per_second=2000)
        report = self.answer("loadtest", server.url, "llama-3.1-8b", "--gpu", "h100-sxm", "--ctx", "256", "-u", "6",
                             "--ramp", "0.2", "--hold", "1", "--quiet")["loadtest"]
        self.assertEqual(report["load"]["users"], 6)
        self.assertEqual({body["max_tokens"] for body in server.requests[2:]}, {64})
        self.assertAlmostEqual(report["lengths"]["prompt_tokens_mean"], 256 - 64 - 16, delta=2)
        self.assertGreater(report["plan"]["users"], 6)
        self.assertIn("planned_bytes", report["memory"][0])
        # Without a model the same flags still say how many and how long.
        report = self.answer("loadtest", server.url, "-u", "3", "-c", "128", "--ramp", "0.1", "--hold", "0.5", "--quiet")["loadtest"]
        self.assertEqual(report["load"]["users"], 3)
        self.assertEqual(server.requests[-1]["max_tokens"], 32)

    def test_lengths_of_a_trace_and_of_a_preset(self):
        trace = self.machine.at / "trace.csv"
        trace.write_text("arrival_seconds,prompt_tokens,output_tokens\n0,40,5\n1,80,7\n2,120,9\n")
        server = self.double(tokens_per_second=2000)
        report = self.answer("loadtest", server.url, *QUICK, "--lengths", trace)["loadtest"]
        self.assertLessEqual({body["max_tokens"] for body in server.requests[2:]}, {5, 7, 9})
        words = {len(body["messages"][0]["content"].split()) for body in server.requests[2:]}
        self.assertLessEqual(words, {40 - 9, 80 - 9, 120 - 9})
        self.assertGreater(len(words), 1)
        self.assertEqual(report["outcome"], "held")
        server = self.double(tokens_per_second=20000)
        # Long answers may still run at the end; what was asked counts.
        self.run_it("loadtest", server.url, *QUICK, "--timeout", "60", "--users", "16", "--lengths", "chat", "-c", "2k")
        asked = [(len(b["messages"][0]["content"].split()), b["max_tokens"]) for b in server.requests[2:]]
        self.assertGreater(len(set(asked)), 8)
        self.assertLessEqual(max(p + o for p, o in asked), 2048)
        self.assertEqual(self.run_it("loadtest", server.url, "--lengths", "chatt").returncode, 4)
        self.assertEqual(self.run_it("loadtest", server.url, "--lengths", "./none.csv").returncode, 4)

    def test_varieties_of_good_answers(self):
        for mode in ("crlf", "bundle", "no_usage", "reasoning"):
            server = self.double(mode)
            report = self.answer("loadtest", server.url, *QUICK)["loadtest"]
            self.assertEqual((mode, report["outcome"], report["requests"]["errors"]), (mode, "held", 0))
            self.assertAlmostEqual(report["lengths"]["output_tokens_mean"], 10, delta=0.01)
            self.assertEqual(report["lengths"]["counted_by_server"], mode != "no_usage")

    def test_faults_never_hang_it(self):
        kinds = {"stall": "stalled", "stall_head": "timed_out", "drip": ("bad_stream", "timed_out"), "endless": "timed_out",
                 "reset": "reset", "cut": ("reset", "cut"), "close": "reset", "rubbish": "bad_stream",
                 "not_sse": "bad_stream", "html": "bad_stream", "huge_line": "bad_stream", "long_event": "bad_stream",
                 "bad_chunks": ("reset", "other"), "error_event": "server_error", "redirect": "status 302",
                 "empty": "no_tokens", "status:400": "status 400", "status:429": "status 429", "status:503": "status 503"}
        servers = {mode: self.double(mode, tokens_per_second=50) for mode in kinds}

        def one(mode):
            began = time.monotonic()
            done = self.run_it("loadtest", servers[mode].url, *QUICK, "--json")
            return mode, done, time.monotonic() - began

        # All at once: they mostly wait.
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for mode, done, seconds in pool.map(one, kinds):
                kind = kinds[mode]
                with self.subTest(mode=mode):
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertLess(seconds, 20)
                    report = json.loads(done.stdout)["loadtest"]
                    self.assertIn(report["outcome"], ("errors", "stopped"))
                    found = report["requests"]["by_kind"][0]
                    self.assertIn(found["kind"], (kind,) if isinstance(kind, str) else kind, report["requests"])
                    self.assertEqual(report["requests"]["good"], 0)

    def test_rubbish_is_told_harmlessly(self):
        for mode in ("rubbish", "huge_line", "status:500"):
            server = self.double(mode)
            done = self.run_it("loadtest", server.url, *QUICK, "--width", "80")
            self.assertEqual(done.returncode, 1)
            self.assertNotIn("\x1b", done.stdout)
            self.assertNotIn("nan", done.stdout)
            self.assertLess(len(done.stdout), 2000)
        # The same from the first question on is no test at all.
        for mode in ("rubbish", "html", "status:500", "close"):
            server = self.double(mode, good_first=0)
            done = self.run_it("loadtest", server.url, *QUICK)
            self.assertEqual((done.returncode, done.stdout), (3, ""), mode)

    def test_some_faults_among_good_answers(self):
        server = self.double(["ok"] * 9 + ["reset"], tokens_per_second=500)
        report = self.answer("loadtest", server.url, *QUICK, status=1)["loadtest"]
        self.assertEqual(report["outcome"], "errors")
        requests = report["requests"]
        self.assertGreater(requests["good"], 4 * requests["errors"])
        self.assertEqual(requests["good"] + requests["errors"], requests["ended"])

    def test_an_error_is_not_hammered(self):
        server = self.double("status:503")
        self.answer("loadtest", server.url, "--users", "1", "--ramp", "0", "--hold", "3", "--quiet", status=1)
        self.assertLess(len(server.requests), 9)

    def test_stops_itself(self):
        server = self.double("status:500")
        began = time.monotonic()
        report = self.answer("loadtest", server.url, "--users", "32", "--ramp", "0", "--hold", "60", "--quiet", status=1)["loadtest"]
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual((report["outcome"], report["load"]["ended_by"]), ("stopped", "errors"))
        # A card runs full.
        self.card()
        server = self.double()
        steps = [0]

        def fill():
            steps[0] += 1
            if steps[0] == 100:
                self.card(used=81080)
        server.on_step = fill
        report = self.answer("loadtest", server.url, "--users", "4", "--ramp", "0", "--hold", "60", "--quiet", status=1)["loadtest"]
        self.assertEqual((report["outcome"], report["load"]["ended_by"]), ("stopped", "memory"))

    def test_memory_that_grows(self):
        self.card(used=20000)
        server = self.double(tokens_per_second=100)
        stop = threading.Event()

        def grow():
            used = 20000
            while not stop.wait(0.25):
                used += 150
                self.card(used=used)
        thread = threading.Thread(target=grow)
        thread.start()
        try:
            report = self.answer("loadtest", server.url, "--users", "2", "--ramp", "0", "--hold", "16", "--output-tokens", "10",
                                 "--quiet", status=1)["loadtest"]
        finally:
            stop.set()
            thread.join()
        self.assertEqual(report["outcome"], "not_settled")
        self.assertAlmostEqual(report["memory"][0]["growth_bytes_per_minute"] / MIB, 36000, delta=9000)
        self.assertFalse(report["memory"][0]["settled"])

    def test_bounds(self):
        server = self.double(tokens_per_second=500)
        report = self.answer("loadtest", server.url, *QUICK, "--requests", "10", "--hold", "30")["loadtest"]
        self.assertEqual((report["requests"]["ended"], report["load"]["ended_by"]), (10, "requests"))
        self.assertEqual(len(server.requests), 12)
        # What runs at the end is stopped, and no error.
        server = self.double("endless")
        report = self.answer("loadtest", server.url, "--users", "3", "--ramp", "0", "--hold", "1", "--drain", "0.5", "--quiet",
                             status=1)["loadtest"]
        self.assertEqual((report["requests"]["errors"], report["requests"]["unfinished"]), (0, 3))
        self.assertLess(report["load"]["seconds"], 4)

    def test_control_c(self):
        for delay in (0.3, 2.0):
            server = self.double(tokens_per_second=20)
            process = self.start("loadtest", server.url, "--users", "8", "--ramp", "0", "--hold", "60", "--json", "--quiet")
            time.sleep(delay)
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=10)
            self.assertLess(time.monotonic() - began, 2)
            self.assertEqual(process.returncode, 130, err)
            if delay > 1:
                self.assertEqual(json.loads(out)["loadtest"]["outcome"], "interrupted")
        # While a server does not even answer the first question.
        server = self.double("stall_head", good_first=0)
        process = self.start("loadtest", server.url, "--quiet")
        time.sleep(0.7)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=5)
        self.assertEqual(process.returncode, 130)

    def test_no_such_server(self):
        free = socket.socket()
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        free.close()
        done = self.run_it("loadtest", url)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("start the server first", done.stderr)
        error = self.answer("loadtest", url, status=3)["error"]
        self.assertEqual(error["code"], "invalid_input")
        self.assertEqual(self.run_it("loadtest").returncode, 2)
        for server in ("ftp://x", "http://", "not a server"):
            self.assertEqual(self.run_it("loadtest", server).returncode, 3, server)
        # One that speaks something else.
        listener = socket.create_server(("127.0.0.1", 0))

        def speak():
            with listener.accept()[0] as client:
                client.sendall(b"SSH-2.0-x\r\n" * 100)
        threading.Thread(target=speak, daemon=True).start()
        done = self.run_it("loadtest", f"http://127.0.0.1:{listener.getsockname()[1]}")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        listener.close()

    def test_keys(self):
        server = self.double(key="sk-secret")
        done = self.run_it("loadtest", server.url, *QUICK)
        self.assertEqual(done.returncode, 3)
        self.assertIn("OPENAI_API_KEY", done.stderr)
        done = self.run_it("loadtest", server.url, *QUICK, OPENAI_API_KEY="sk-secret")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("sk-secret", done.stdout + done.stderr)
        self.assertEqual(self.run_it("loadtest", server.url, *QUICK, "--key-env", "MINE", MINE="sk-secret").returncode, 0)

    def test_html(self):
        self.card()
        server = self.double(["ok", "status:500"], tokens_per_second=500)
        path = self.machine.at / "report.html"
        done = self.run_it("loadtest", server.url, *QUICK, "--html", path)
        self.assertIn(str(path), done.stdout)
        text = path.read_text()

        class Checker(html.parser.HTMLParser):
            open_tags, svgs, bad = [], 0, []

            def handle_starttag(self, tag, attributes):
                if tag not in ("meta", "line", "i", "br"):
                    self.open_tags.append(tag)
                self.svgs += tag == "svg"
                if tag in ("script", "link", "img", "iframe") or any(k in ("src", "href") for k, _ in attributes):
                    self.bad.append(tag)

            def handle_endtag(self, tag):
                if tag not in ("i", "line"):
                    assert self.open_tags.pop() == tag, tag
        checker = Checker()
        checker.feed(text)
        self.assertEqual((checker.open_tags, checker.bad), ([], []))
        self.assertGreaterEqual(checker.svgs, 4)
        self.assertIn("default-src 'none'", text)
        self.assertIn("&lt;b&gt;tired&lt;/b&gt;", text)
        self.assertNotIn("nan", text.lower().replace("nvidia", ""))
        # A place that cannot be written is told before the load.
        began = len(server.requests)
        self.assertEqual(self.run_it("loadtest", server.url, *QUICK, "--html", "/nonexistent/x.html").returncode, 3)
        self.assertEqual(len(server.requests), began)

    def test_text_in_narrow_places(self):
        self.card()
        server = self.double(tokens_per_second=500)
        for width in (80, 50):
            done = self.run_it("loadtest", server.url, *QUICK, "--width", width)
            self.assertTrue(done.stdout.startswith("Held 4 users: "), done.stdout)
            self.assertLessEqual(max(map(len, done.stdout.splitlines())), width, done.stdout)

    def test_256_streams(self):
        server = self.double(tokens_per_second=8, first_token=0.05)
        report = self.answer("loadtest", server.url, "--users", "256", "--ramp", "3", "--hold", "8", "--output-tokens", "30-60",
                             "--drain", "20", "--quiet")["loadtest"]
        self.assertEqual((report["outcome"], report["requests"]["errors"]), ("held", 0))
        self.assertEqual((report["load"]["most_streams"], server.most_running), (256, 256))

    def test_a_cache_that_is_too_small(self):
        # 16 fit, 32 ask: the engine queues, and the report shows it.
        server = self.double(max_running=16, tokens_per_second=100)
        report = self.answer("loadtest", server.url, "--users", "32", "--ramp", "0.5", "--hold", "4", "--output-tokens", "20",
                             "--quiet")["loadtest"]
        self.assertEqual(report["engine"]["most_running"], 16)
        self.assertGreater(report["engine"]["most_waiting"], 8)
        self.assertGreater(report["ttft_seconds"]["p50"], 0.1)
        self.assertEqual(report["engine"]["most_cache_use"], 1)


if __name__ == "__main__":
    unittest.main()
