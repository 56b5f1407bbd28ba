"""An OpenAI-compatible server on loopback that misbehaves on demand.

    with ChatDouble(mode="ok", tokens_per_second=50) as server:
        run("loadtest", server.url)

`mode` is what happens to every answer, or a list that is gone through request by request; the first
`good_first` requests (the probes) are always answered well. Modes:

    ok crlf bundle no_usage reasoning    answers in their varieties
    stall stall_head drip endless        slow ones: never goes on, never begins, a byte at a time, no end
    reset cut close                      broken off: RST in the middle, end without [DONE], at once
    rubbish not_sse html huge_line long_event bad_chunks   not what was asked for
    error_event status:CODE redirect empty                 errors of every kind

`max_running` bounds what runs at once, like an engine's cache: beyond it requests wait. /metrics speaks
as vLLM, SGLang, llama.cpp or (at /prometheus/metrics) TensorRT-LLM does, with their counters and histograms. One thread, asyncio, standard library only: 256 streams are no trouble.
"""

import asyncio
import itertools
import json
import threading
import time

SSE = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def plain(status: str, body: bytes, kind="application/json", more="") -> bytes:
    return (f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n").encode() + body


BOUNDS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0)


class Histogram:
    def __init__(self):
        self.values = []

    def text(self, name, labels):
        counts = [(str(bound), sum(v <= bound for v in self.values)) for bound in BOUNDS] + [("+Inf", len(self.values))]
        return ("".join(f'{name}_bucket{{{labels},le="{bound}"}} {count}\n' for bound, count in counts)
                + f"{name}_sum{{{labels}}} {sum(self.values)}\n{name}_count{{{labels}}} {len(self.values)}\n")


class ChatDouble:
    def __init__(self, mode="ok", good_first=2, tokens_per_second=200.0, first_token=0.01, max_running=10**9,
                 owner="vllm", metrics="vllm", template_tokens=9, tokens_per_word=1.0, key=""):
        self.modes = itertools.cycle([mode] if isinstance(mode, str) else mode)
        self.good_first = good_first
        self.step = 1.0 / tokens_per_second
        self.first_token = first_token
        self.max_running = max_running
        self.owner, self.metrics_kind, self.key = owner, metrics, key
        self.template_tokens, self.tokens_per_word = template_tokens, tokens_per_word
        self.requests = []  # bodies of the chat requests
        self.running = self.waiting = self.most_running = self.preemptions = 0
        self.generated = self.prompted = self.answered = self.found = 0
        self.times = {name: Histogram() for name in ("first", "gap", "request", "queue")}
        self.metrics_fault = None
        self.on_step = lambda: None

    # ---- life
    def __enter__(self):
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self.thread.start()
        ready.wait(10)
        return self

    def _run(self, ready):
        asyncio.set_event_loop(self.loop)
        self.gate = asyncio.Condition()
        self.server = self.loop.run_until_complete(asyncio.start_server(self._client, "127.0.0.1", 0, backlog=1024))
        self.port = self.server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        ready.set()
        self.loop.run_forever()

    def __exit__(self, *_):
        async def end():
            self.server.close()
            tasks = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        asyncio.run_coroutine_threadsafe(end(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()

    # ---- HTTP
    async def _client(self, reader, writer):
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _exchange(self, reader, writer) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, path, _ = head.split("\r\n", 1)[0].split(" ", 2)
        fields = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head.split("\r\n")[1:])}
        body = await reader.readexactly(int(fields.get("content-length", 0)))
        if self.key and fields.get("authorization") != f"Bearer {self.key}":
            writer.write(plain("401 Unauthorized", b'{"error":{"message":"wrong key"}}'))
        elif path == "/v1/models":
            owner = {"id": "tiny", "object": "model", "owned_by": self.owner}
            writer.write(plain("200 OK", json.dumps({"object": "list", "data": [owner]}).encode()))
        elif path == ("/prometheus/metrics" if self.metrics_kind == "trtllm" else "/metrics"):
            return await self._metrics(writer)
        elif path in ("/v1/chat/completions", "/v1/completions") and method == "POST":
            return await self._answer(writer, json.loads(body), path)
        else:
            writer.write(plain("404 Not Found", b'{"detail":"Not Found"}'))
        await writer.drain()
        return True

    async def _metrics(self, writer) -> bool:
        if self.metrics_fault == "stall":
            await asyncio.sleep(3600)
        if self.metrics_fault == "rubbish":
            writer.write(plain("200 OK", b"\x00\xff" * 5000, "text/plain"))
        elif self.metrics_fault:
            writer.write(plain(self.metrics_fault, b"no", "text/plain"))
        else:
            writer.write(plain("200 OK", self.exposition().encode(), "text/plain"))
        await writer.drain()
        return True

    def exposition(self) -> str:
        use = min(1.0, self.running / min(self.max_running, 1000))
        if self.metrics_kind == "llama.cpp":
            return (f"llamacpp:requests_processing {self.running}\nllamacpp:requests_deferred {self.waiting}\n"
                    f"llamacpp:tokens_predicted_total {self.generated}\nllamacpp:prompt_tokens_total {self.prompted}\n"
                    f"llamacpp:prompt_seconds_total {sum(self.times['first'].values)}\n"
                    f"llamacpp:tokens_predicted_seconds_total {sum(self.times['gap'].values)}\n")
        if self.metrics_kind == "sglang":
            label = '{model_name="tiny"}'
            return (f"sglang:num_running_reqs{label} {self.running}\nsglang:num_queue_reqs{label} {self.waiting}\n"
                    f"sglang:token_usage{label} {use}\nsglang:max_total_num_tokens{label} 320000\n"
                    f"sglang:prompt_tokens_total{label} {self.prompted}\nsglang:generation_tokens_total{label} {self.generated}\n"
                    f"sglang:cached_tokens_total{label} {self.found}\nsglang:num_requests_total{label} {self.answered}\n"
                    + self.histograms("sglang:", "inter_token_latency_seconds", "queue_time_seconds"))
        if self.metrics_kind == "trtllm":
            label = '{model_name="tiny",engine_type="trtllm"}'
            return (f"trtllm_num_requests_running{label} {self.running}\ntrtllm_num_requests_waiting{label} {self.waiting}\n"
                    f"trtllm_kv_cache_utilization{label} {use}\ntrtllm_kv_cache_max_blocks{label} 10000\n"
                    f"trtllm_kv_cache_tokens_per_block{label} 32\ntrtllm_request_success_total{label} {self.answered}\n"
                    f"trtllm_prompt_tokens_total{label} {self.prompted}\ntrtllm_generation_tokens_total{label} {self.generated}\n"
                    f"trtllm_prompt_cached_tokens_total{label} {self.found}\n"
                    + self.histograms("trtllm_", "time_per_output_token_seconds", "request_queue_time_seconds"))
        label = '{engine="0",model_name="tiny"}'
        return (f"# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{label} {self.running}\n"
                f"vllm:num_requests_waiting{label} {self.waiting}\nvllm:kv_cache_usage_perc{label} {use}\n"
                f"vllm:num_preemptions_total{label} {self.preemptions}\n"
                f"vllm:generation_tokens_total{label} {self.generated}\nvllm:prompt_tokens_total{label} {self.prompted}\n"
                f'vllm:request_success_total{{finished_reason="length",model_name="tiny"}} {self.answered}\n'
                f"vllm:prefix_cache_queries_total{label} {self.prompted}\nvllm:prefix_cache_hits_total{label} {self.found}\n"
                'vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="20000"} 1.0\n'
                + self.histograms("vllm:", "inter_token_latency_seconds", "request_queue_time_seconds"))

    def histograms(self, prefix, gap, queue):
        names = {"first": "time_to_first_token_seconds", "gap": gap, "request": "e2e_request_latency_seconds", "queue": queue}
        return "".join(self.times[key].text(prefix + name, 'model_name="tiny"') for key, name in names.items())

    # ---- answers
    async def _answer(self, writer, body, path) -> bool:
        self.requests.append(body)
        mode = "ok" if len(self.requests) <= self.good_first else next(self.modes)
        chat = path.endswith("chat/completions")
        text = body["messages"][0]["content"] if chat else body["prompt"]
        prompt = round(len(text.split()) * self.tokens_per_word) + (self.template_tokens if chat else 0)
        if mode.startswith("status:"):
            error = {"error": {"message": "the server is <b>tired</b>", "type": "x"}}
            writer.write(plain(mode[7:] + " Whatever", json.dumps(error).encode()))
        elif mode == "redirect":
            writer.write(plain("302 Found", b"", more="Location: http://127.0.0.1:9/\r\n"))
        elif mode == "html":
            writer.write(plain("200 OK", b"<html><body>Welcome to the proxy</body></html>", "text/html"))
        elif mode == "not_sse":
            writer.write(plain("200 OK", json.dumps({"choices": [{"message": {"content": "hi"}}]}).encode()))
        elif mode == "close":
            return False
        elif mode == "stall_head":
            await asyncio.sleep(3600)
        elif mode == "bad_chunks":
            writer.write(SSE.encode() + b"zz\r\nthis is no chunk\r\n")
            await writer.drain()
            return False
        else:
            arrived = time.monotonic()
            self.waiting += 1
            async with self.gate:
                await self.gate.wait_for(lambda: self.running < self.max_running)
                self.waiting -= 1
                self.running += 1
            self.times["queue"].values.append(time.monotonic() - arrived)
            self.most_running = max(self.most_running, self.running)
            try:
                return await self._stream(writer, mode, body, chat, prompt, arrived)
            finally:
                self.times["request"].values.append(time.monotonic() - arrived)
                self.answered += 1
                self.running -= 1
                async with self.gate:
                    self.gate.notify_all()
        await writer.drain()
        return True

    async def _stream(self, writer, mode, body, chat, prompt, arrived) -> bool:
        end = b"\r\n\r\n" if mode == "crlf" else b"\n\n"
        self.prompted += prompt
        self.found += prompt // 4
        writer.write(SSE.encode())

        def event(value) -> bytes:
            return b"data: " + (value if isinstance(value, bytes) else json.dumps(value).encode()) + end

        def piece(text, finish=None):
            key = "reasoning_content" if mode == "reasoning" else "content"
            choice = {"index": 0, "finish_reason": finish}
            choice |= {"delta": {key: text} if text else {}} if chat else {"text": text}
            return {"id": "x", "object": "chat.completion.chunk", "choices": [choice]}

        async def send(data: bytes):
            writer.write(chunk(data))
            await writer.drain()

        if mode == "rubbish":
            await send(bytes(range(256)) * 400)
            await send(b"data: {\"choices\": [\n\n")
        elif mode == "huge_line":
            for _ in range(80):
                await send(b"data: " + b"x" * 65536)
        elif mode == "long_event":
            for _ in range(2000):
                await send(b"data: " + b"y" * 2048 + b"\n")
        elif mode == "error_event":
            await send(event(piece("a")) + event({"error": {"message": "engine died", "code": 500}}))
        elif mode == "drip":
            for byte in event(piece("slow")) * 100:
                await send(bytes([byte]))
                await asyncio.sleep(0.05)
        elif mode == "empty":
            await send(event(piece("", "stop")) + event(b"[DONE]"))
        else:
            await asyncio.sleep(self.first_token)
            count = body["max_tokens"] if mode != "endless" else 10**9
            step = 1
            if mode == "bundle":
                step = 4
            for i in range(0, count, step):
                text = event(piece("", None)) if i == 0 and chat else b""
                text += b"".join(event(piece(f" w{k}")) for k in range(i, min(i + step, count)))
                await send(text)
                now = time.monotonic()
                self.times["gap" if i else "first"].values.append(now - (before if i else arrived))
                before = now
                self.generated += step
                self.on_step()
                if mode == "stall" and i >= 3:
                    await asyncio.sleep(3600)
                if mode == "reset" and i >= 3:
                    writer.transport.abort()
                    return False
                if mode == "cut" and i >= 3:
                    return False
                await asyncio.sleep(self.step * step)
            await send(event(piece("", "length")))
            if mode != "no_usage":
                await send(event({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": count}}))
            await send(event(b"[DONE]"))
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True
