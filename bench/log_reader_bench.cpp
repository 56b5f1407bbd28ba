// How fast a server's log is read, style by style: a startup, then what a busy server of that
// engine prints for hours (throughput lines, access lines, slots). Only lines that hold a
// template's fixed words are looked at, so nearly all of the time is the search for them.
//
// Each log is made once, 64 MiB, and fed again and again in pieces of 1 MiB, as the command line
// does: a gigabyte in constant memory.
#include <benchmark/benchmark.h>

#include <array>
#include <string>

#include "verify/log_reader.h"

namespace {

// A line with "@" for a number that changes.
struct Style {
  const char* start;                  // printed once
  std::array<const char*, 4> repeat;  // the first as often as the other three together
};

constexpr Style kVllm = {
    "(APIServer pid=1) INFO 10-23 11:22:31 [utils.py:233] non-default args: {'model': 'org/m'}\n"
    "(EngineCore_DP0 pid=90) INFO 10-23 11:23:00 [gpu_model_runner.py:2653] Model loading took "
    "14.9889 GiB and 3.21 seconds\n"
    "(EngineCore_DP0 pid=90) INFO 10-23 11:23:22 [gpu_worker.py:298] Available KV cache memory: "
    "51.38 GiB\n",
    {"(APIServer pid=1) INFO:     10.0.3.17:@ - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n",
     "(APIServer pid=1) INFO:     10.0.3.17:@ - \"POST /v1/completions HTTP/1.1\" 200 OK\n",
     "(EngineCore_DP0 pid=90) INFO 10-23 11:40:12 [loggers.py:123] Engine 000: Avg prompt "
     "throughput: @.3 tokens/s, Avg generation throughput: 812.4 tokens/s, Running: 31 reqs, "
     "Waiting: 0 reqs, GPU KV cache usage: 41.2%, Prefix cache hit rate: 12.0%\n",
     "(APIServer pid=1) DEBUG 10-23 11:40:12 [async_llm.py:419] Added request chatcmpl-@.\n"}};

constexpr Style kSglang = {
    "[2026-05-17 10:11:12] server_args=ServerArgs(model_path='org/m')\n"
    "[2026-05-17 10:11:12 TP0] Load weight end. type=Model, dtype=torch.bfloat16, avail mem=8.20 "
    "GB, "
    "mem usage=14.98 GB.\n",
    {"[2026-05-17 10:11:12] INFO:     10.0.3.17:@ - \"POST /generate HTTP/1.1\" 200 OK\n",
     "[2026-05-17 10:11:12 TP0] Prefill batch, #new-seq: 1, #new-token: @, #cached-token: 896, "
     "token "
     "usage: 0.41, #running-req: 12, #queue-req: 0, \n",
     "[2026-05-17 10:11:12 TP0] Decode batch, #running-req: 12, #token: @, token usage: 0.41, cuda "
     "graph: True, gen throughput (token/s): 1422.10, #queue-req: 0, \n",
     "[2026-05-17 10:11:12] Finish: obj=GenerateReqInput(rid='@', text=None)\n"}};

constexpr Style kTrtllm = {
    "[TensorRT-LLM] TensorRT-LLM version: 1.1.0\n"
    "[05/17/2026-10:11:12] [TRT-LLM] [I] Memory used after loading model weights (inside torch) in "
    "memory usage profiling: 14.98 GiB\n",
    {"INFO:     10.0.3.17:@ - \"POST /v1/completions HTTP/1.1\" 200 OK\n",
     "[05/17/2026-10:11:12] [TRT-LLM] [I] iter = @, global_rank = 0, rank = 0, "
     "currank_total_requests "
     "= 0/0, host_step_time = 12.1ms, prev_device_step_time = 11.9ms, num_scheduled_requests: 12, "
     "states = {'num_ctx_requests': 0, 'num_ctx_tokens': 0, 'num_generation_tokens': 12}\n",
     "[05/17/2026-10:11:12] [TRT-LLM] [I] [kv cache manager] used blocks: @, free blocks: 1021\n",
     "[05/17/2026-10:11:12] [TRT-LLM] [V] Request @ finished\n"}};

constexpr Style kLlamacpp = {
    "build: 9200 (abcdef12) with cc (Debian 12.2.0) 12.2.0 for x86_64-linux-gnu\n"
    "load_tensors:        CUDA0 model buffer size =  4455.34 MiB\n",
    {"slot update_slots: id  3 | task @ | new prompt, n_ctx_slot = 8192, n_keep = 0, task.n_tokens "
     "= "
     "1031\n",
     "slot print_timing: id  3 | task @ | \nprompt eval time =     112.81 ms /  1031 tokens (    "
     "0.11 "
     "ms per token,  9139.20 tokens per second)\n       eval time =    3112.81 ms /   412 tokens\n",
     "srv  log_server_r: done request: POST /v1/chat/completions 10.0.3.17 200\n",
     "slot      release: id  3 | task @ | stop processing: n_tokens = 1443, truncated = 0\n"}};

constexpr Style kOllama = {
    "time=2026-09-17T10:11:12.123Z level=INFO source=routes.go:1205 msg=\"Listening on "
    "127.0.0.1:11434 (version 0.33.1)\"\n"
    "load_tensors:        CUDA0 model buffer size =  4455.34 MiB\n",
    {"[GIN] 2026/09/17 - 10:11:12 | 200 |  @.2ms |       127.0.0.1 | POST     \"/api/chat\"\n",
     "time=2026-09-17T10:11:12.123Z level=DEBUG source=sched.go:618 msg=\"evaluating already "
     "loaded\" "
     "model=/root/.ollama/models/blobs/sha256-@\n",
     "time=2026-09-17T10:11:12.123Z level=DEBUG source=cache.go:104 msg=\"loading cache slot\" "
     "id=0 "
     "cache=@ prompt=1031 used=896 remaining=135\n",
     "time=2026-09-17T10:11:12.123Z level=DEBUG source=server.go:1601 msg=\"completion request\" "
     "images=0 prompt=@ format=\"\"\n"}};

std::string busy_log(const Style& style, size_t bytes) {
  std::string log = style.start;
  uint32_t n = 1;
  while (log.size() < bytes) {
    n = n * 1664525u + 1013904223u;
    const uint32_t kind = n >> 29;
    std::string line = style.repeat[kind < 4 ? 0 : kind == 7 ? 3 : kind - 3];
    const std::string number = std::to_string(n % 100000);
    if (const size_t at = line.find('@'); at != std::string::npos) line.replace(at, 1, number);
    log += line;
  }
  return log;
}

// The same as containers write it, which escapes quotes and hides line breaks.
std::string in_json(const std::string& log) {
  std::string out;
  size_t at = 0;
  while (at < log.size()) {
    const size_t end = log.find('\n', at);
    out += "{\"log\":\"";
    for (const char c : log.substr(at, end - at)) {
      if (c == '"') out += '\\';
      out += c;
    }
    out += "\\n\",\"stream\":\"stderr\",\"time\":\"2026-09-17T10:11:12.123456789Z\"}\n";
    at = end == std::string::npos ? log.size() : end + 1;
  }
  return out;
}

void read(benchmark::State& state, const std::string& log) {
  constexpr size_t kPiece = size_t{1} << 20;
  for (auto _ : state) {
    vramwise::verify::LogReader reader;
    for (size_t at = 0; at < log.size(); at += kPiece) {
      reader.feed(std::string_view(log).substr(at, kPiece));
    }
    reader.finish();
    benchmark::DoNotOptimize(reader.log().matched);
  }
  state.SetBytesProcessed(state.iterations() * int64_t(log.size()));
  state.SetItemsProcessed(state.iterations() * int64_t(log.size()));
}

constexpr size_t kSize = size_t{64} << 20;

void BM_BusyLog(benchmark::State& state, const Style& style) {
  read(state, busy_log(style, kSize));
}
void BM_BusyLogInJson(benchmark::State& state, const Style& style) {
  read(state, in_json(busy_log(style, kSize)));
}

// A server that dies and is started again for days: every line is one that is read.
void BM_RestartLoop(benchmark::State& state, const Style& style) {
  std::string log;
  while (log.size() < kSize / 8) log += style.start;
  read(state, log);
}

BENCHMARK_CAPTURE(BM_BusyLog, vllm, kVllm)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_BusyLog, sglang, kSglang)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_BusyLog, trtllm, kTrtllm)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_BusyLog, llamacpp, kLlamacpp)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_BusyLog, ollama, kOllama)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_BusyLogInJson, vllm, kVllm)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_BusyLogInJson, ollama, kOllama)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_RestartLoop, vllm, kVllm)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_RestartLoop, sglang, kSglang)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_RestartLoop, trtllm, kTrtllm)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_RestartLoop, llamacpp, kLlamacpp)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_RestartLoop, ollama, kOllama)->Unit(benchmark::kMillisecond);

}  // namespace
