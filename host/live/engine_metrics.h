// What a running engine says of itself at /metrics, in one form for vLLM, SGLang and llama-server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "json/value.h"

namespace vramwise::host {

// Absent: this engine (or version) does not say it.
struct EngineMetrics {
  std::string engine;                   // vllm, sglang, llama.cpp; empty: not recognised
  std::optional<double> running;        // requests being served
  std::optional<double> waiting;        // requests in the queue
  std::optional<double> cache_use;      // 0 to 1; the fullest engine process of several
  std::optional<double> preemptions;    // so far; SGLang: retractions in the queue right now
  std::optional<double> prompt_tokens;  // so far
  std::optional<double> output_tokens;  // so far
  std::optional<int64_t> cache_tokens;  // what the cache holds, all of it
};

// Text of /metrics. Unknown metrics leave `engine` empty.
EngineMetrics read_engine_metrics(std::string_view text);

json::Value to_json(const EngineMetrics& metrics);

}  // namespace vramwise::host
