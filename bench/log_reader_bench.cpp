// How fast a server's log is read: a startup, then what a busy server prints for hours (throughput
// lines, access lines, and a refused request now and then). Only lines that hold a template's fixed
// words are looked at, so nearly all of the time is the search for them.
//
// The log is made once, 64 MiB, and fed again and again in pieces of 1 MiB, as the command line
// does: a gigabyte in constant memory.
#include <benchmark/benchmark.h>

#include <string>

#include "verify/log_reader.h"

namespace {

std::string busy_log(size_t bytes) {
  std::string log =
      "(APIServer pid=1) INFO 10-23 11:22:31 [utils.py:233] non-default args: {'model': 'org/m'}\n"
      "(EngineCore_DP0 pid=90) INFO 10-23 11:23:00 [gpu_model_runner.py:2653] Model loading took "
      "14.9889 GiB and 3.21 seconds\n"
      "(EngineCore_DP0 pid=90) INFO 10-23 11:23:22 [gpu_worker.py:298] Available KV cache memory: "
      "51.38 GiB\n";
  uint32_t n = 1;
  while (log.size() < bytes) {
    n = n * 1664525u + 1013904223u;
    const std::string number = std::to_string(n % 100000);
    switch (n >> 29) {
      case 0:
        log +=
            "(EngineCore_DP0 pid=90) INFO 10-23 11:40:12 [loggers.py:123] Engine 000: Avg prompt "
            "throughput: " +
            number +
            ".3 tokens/s, Avg generation throughput: 812.4 tokens/s, "
            "Running: 31 reqs, Waiting: 0 reqs, GPU KV cache usage: 41.2%, Prefix cache hit "
            "rate: 12.0%\n";
        break;
      case 1:
        log += "(APIServer pid=1) DEBUG 10-23 11:40:12 [async_llm.py:419] Added request chatcmpl-" +
               number + ".\n";
        break;
      default:
        log += "(APIServer pid=1) INFO:     10.0.3.17:" + number +
               " - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n";
    }
  }
  return log;
}

void BM_BusyLog(benchmark::State& state) {
  const std::string log = busy_log(size_t{64} << 20);
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
BENCHMARK(BM_BusyLog)->Unit(benchmark::kMillisecond);

}  // namespace
