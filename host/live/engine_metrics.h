// What a running engine says of itself at /metrics, in one form for vLLM, SGLang, TensorRT-LLM and
// llama-server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/stream/metric_histogram.h"
#include "json/value.h"

namespace vramwise::host {

// Absent: this engine (or version) does not say it. "So far" is since the server's start.
struct EngineMetrics {
  std::string engine;                   // vllm, sglang, trtllm, llama.cpp; empty: not recognised
  bool cut_off = false;                 // the text holds more series than are read
  std::optional<double> running;        // requests being served
  std::optional<double> waiting;        // requests in the queue
  std::optional<double> cache_use;      // 0 to 1; the fullest engine process of several
  std::optional<double> preemptions;    // so far; old SGLang: retractions in the queue right now
  std::optional<double> prompt_tokens;  // so far
  std::optional<double> output_tokens;  // so far
  std::optional<double> requests;       // answered so far
  // Prompt tokens that the prefix cache was asked for and that it had, so far.
  std::optional<double> prefix_asked, prefix_found;
  // Seconds that requests spent on their prompts and answers, added up so far (llama-server).
  std::optional<double> prompt_seconds, output_seconds;
  std::optional<int64_t> cache_tokens;  // what the cache holds, all of it
  std::optional<int64_t> block_tokens;
  // Seconds: to the first token, between two tokens, of a whole request, in the queue.
  std::optional<formats::MetricHistogram> first_token, inter_token, request, queue;
};

// Text of /metrics. Unknown metrics leave `engine` empty.
EngineMetrics read_engine_metrics(std::string_view text);

json::Value to_json(const EngineMetrics& metrics);

}  // namespace vramwise::host
