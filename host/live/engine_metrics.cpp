#include "host/live/engine_metrics.h"

#include <array>

#include "base/text.h"
#include "formats/stream/exposition.h"

namespace vramwise::host {
namespace {

using formats::Exposition;

// The names an engine has given to one figure over its versions, newest first. Sources: vLLM
// v1/metrics/loggers.py and its docs "Production metrics" (gpu_cache_usage_perc until 0.10), SGLang
// managers/scheduler metrics collector, llama.cpp tools/server README.
struct Names {
  const char* engine;
  std::array<const char*, 2> running, waiting, cache_use, preemptions, prompt_tokens, output_tokens;
};
constexpr Names kEngines[] = {
    {"vllm",
     {"vllm:num_requests_running", nullptr},
     {"vllm:num_requests_waiting", nullptr},
     {"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"},
     {"vllm:num_preemptions_total", "vllm:num_preemptions"},
     {"vllm:prompt_tokens_total", "vllm:prompt_tokens"},
     {"vllm:generation_tokens_total", "vllm:generation_tokens"}},
    {"sglang",
     {"sglang:num_running_reqs", nullptr},
     {"sglang:num_queue_reqs", nullptr},
     {"sglang:token_usage", nullptr},
     {"sglang:num_retracted_reqs", nullptr},
     {"sglang:prompt_tokens_total", nullptr},
     {"sglang:generation_tokens_total", nullptr}},
    {"llama.cpp",
     {"llamacpp:requests_processing", nullptr},
     {"llamacpp:requests_deferred", nullptr},
     {"llamacpp:kv_cache_usage_ratio", nullptr},
     {nullptr, nullptr},
     {"llamacpp:prompt_tokens_total", nullptr},
     {"llamacpp:tokens_predicted_total", nullptr}},
};

enum class Over { sum, highest };

std::optional<double> value(const Exposition& text, const std::array<const char*, 2>& names,
                            Over over = Over::sum) {
  for (const char* name : names) {
    if (name == nullptr) continue;
    const auto found = over == Over::sum ? text.sum(name) : text.highest(name);
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<int64_t> cache_tokens(const Exposition& text) {
  // vLLM prints its cache configuration as labels of a gauge that is always one; an engine process
  // a line.
  int64_t sum = 0;
  for (const auto& sample : text.samples) {
    if (sample.name != "vllm:cache_config_info") continue;
    const auto blocks = parse_integer(sample.label("num_gpu_blocks"));
    const auto size = parse_integer(sample.label("block_size"));
    if (blocks && size && *blocks > 0 && *size > 0 && *blocks < (int64_t{1} << 40) &&
        *size < (int64_t{1} << 20)) {
      sum += *blocks * *size;
    }
  }
  if (sum > 0) return sum;
  if (const auto tokens = text.sum("sglang:max_total_num_tokens"); tokens && *tokens < 1e15) {
    return int64_t(*tokens);
  }
  return std::nullopt;
}

}  // namespace

EngineMetrics read_engine_metrics(std::string_view text) {
  const Exposition found = formats::read_exposition(text);
  EngineMetrics metrics;
  for (const Names& names : kEngines) {
    metrics.running = value(found, names.running);
    if (!metrics.running) continue;
    metrics.engine = names.engine;
    metrics.waiting = value(found, names.waiting);
    metrics.cache_use = value(found, names.cache_use, Over::highest);
    metrics.preemptions = value(found, names.preemptions);
    metrics.prompt_tokens = value(found, names.prompt_tokens);
    metrics.output_tokens = value(found, names.output_tokens);
    metrics.cache_tokens = cache_tokens(found);
    break;
  }
  return metrics;
}

json::Value to_json(const EngineMetrics& metrics) {
  json::Value out = json::Value::object();
  out.set("name", metrics.engine);
  const auto set = [&](const char* key, const std::optional<double>& value) {
    if (value) out.set(key, *value);
  };
  set("running", metrics.running);
  set("waiting", metrics.waiting);
  set("cache_use", metrics.cache_use);
  set("preemptions", metrics.preemptions);
  set("prompt_tokens", metrics.prompt_tokens);
  set("output_tokens", metrics.output_tokens);
  if (metrics.cache_tokens) out.set("cache_tokens", *metrics.cache_tokens);
  return out;
}

}  // namespace vramwise::host
