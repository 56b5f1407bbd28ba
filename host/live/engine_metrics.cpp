#include "host/live/engine_metrics.h"

#include <array>

#include "base/text.h"
#include "formats/stream/exposition.h"

namespace vramwise::host {
namespace {

using formats::Exposition;
using formats::MetricHistogram;
using Names = std::array<const char*, 2>;
constexpr Names kNone = {nullptr, nullptr};

// The names an engine has given to one figure over its versions, newest first. Sources: vLLM
// v1/metrics/loggers.py and its docs "Production metrics" (gpu_cache_usage_perc and
// gpu_prefix_cache_* until 0.10; the gap between tokens was called time_per_output_token_seconds,
// and stood beside its new name for a while), SGLang srt/metrics/collector.py (a counter of
// retractions beside the older gauge), TensorRT-LLM tensorrt_llm/metrics/collector.py (served at
// /prometheus/metrics; the queue since 1.2), llama.cpp tools/server README.
struct EngineNames {
  const char* engine;
  Names running, waiting, cache_use, preemptions, prompt_tokens, output_tokens, requests;
  Names prefix_asked, prefix_found, prompt_seconds, output_seconds;
  Names first_token, inter_token, request, queue;
};
constexpr EngineNames kEngines[] = {
    {"vllm",
     {"vllm:num_requests_running", nullptr},
     {"vllm:num_requests_waiting", nullptr},
     {"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"},
     {"vllm:num_preemptions_total", "vllm:num_preemptions"},
     {"vllm:prompt_tokens_total", "vllm:prompt_tokens"},
     {"vllm:generation_tokens_total", "vllm:generation_tokens"},
     {"vllm:request_success_total", "vllm:request_success"},
     {"vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"},
     {"vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"},
     kNone,
     kNone,
     {"vllm:time_to_first_token_seconds", nullptr},
     {"vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"},
     {"vllm:e2e_request_latency_seconds", nullptr},
     {"vllm:request_queue_time_seconds", nullptr}},
    {"sglang",
     {"sglang:num_running_reqs", nullptr},
     {"sglang:num_queue_reqs", nullptr},
     {"sglang:token_usage", nullptr},
     {"sglang:num_retracted_requests_total", "sglang:num_retracted_reqs"},
     {"sglang:prompt_tokens_total", nullptr},
     {"sglang:generation_tokens_total", nullptr},
     {"sglang:num_requests_total", nullptr},
     {"sglang:prompt_tokens_total", nullptr},
     {"sglang:cached_tokens_total", nullptr},
     kNone,
     kNone,
     {"sglang:time_to_first_token_seconds", nullptr},
     {"sglang:inter_token_latency_seconds", "sglang:time_per_output_token_seconds"},
     {"sglang:e2e_request_latency_seconds", nullptr},
     {"sglang:queue_time_seconds", nullptr}},
    {"trtllm",
     {"trtllm_num_requests_running", nullptr},
     {"trtllm_num_requests_waiting", nullptr},
     {"trtllm_kv_cache_utilization", nullptr},
     kNone,
     {"trtllm_prompt_tokens_total", nullptr},
     {"trtllm_generation_tokens_total", nullptr},
     {"trtllm_request_success_total", nullptr},
     {"trtllm_prompt_tokens_total", nullptr},
     {"trtllm_prompt_cached_tokens_total", nullptr},
     kNone,
     kNone,
     {"trtllm_time_to_first_token_seconds", nullptr},
     {"trtllm_time_per_output_token_seconds", nullptr},
     {"trtllm_e2e_request_latency_seconds", nullptr},
     {"trtllm_request_queue_time_seconds", nullptr}},
    {"llama.cpp",
     {"llamacpp:requests_processing", nullptr},
     {"llamacpp:requests_deferred", nullptr},
     {"llamacpp:kv_cache_usage_ratio", nullptr},
     kNone,
     {"llamacpp:prompt_tokens_total", nullptr},
     {"llamacpp:tokens_predicted_total", nullptr},
     kNone,
     kNone,
     kNone,
     {"llamacpp:prompt_seconds_total", nullptr},
     {"llamacpp:tokens_predicted_seconds_total", nullptr},
     kNone,
     kNone,
     kNone,
     kNone},
};

constexpr std::string_view kPrefixes[] = {"vllm:", "sglang:", "trtllm_", "llamacpp:"};

enum class Over { sum, highest };

std::optional<double> value(const Exposition& text, const Names& names, Over over = Over::sum) {
  for (const char* name : names) {
    if (name == nullptr) continue;
    const auto found = over == Over::sum ? text.sum(name) : text.highest(name);
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<MetricHistogram> histogram(const Exposition& text, const Names& names) {
  for (const char* name : names) {
    if (name == nullptr) continue;
    if (auto found = formats::histogram_of(text, name)) return found;
  }
  return std::nullopt;
}

bool sane(const std::optional<double>& number) {
  return number && *number > 0 && *number < double(int64_t{1} << 50);
}

void read_cache(const Exposition& text, EngineMetrics& metrics) {
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
      metrics.block_tokens = *size;
    }
  }
  if (sum > 0) {
    metrics.cache_tokens = sum;
  } else if (const auto tokens = text.sum("sglang:max_total_num_tokens"); sane(tokens)) {
    metrics.cache_tokens = int64_t(*tokens);
  } else if (const auto blocks = text.sum("trtllm_kv_cache_max_blocks"); sane(blocks)) {
    const auto size = text.highest("trtllm_kv_cache_tokens_per_block");
    if (!sane(size) || !sane(*blocks * *size)) return;
    metrics.cache_tokens = int64_t(*blocks * *size);
    metrics.block_tokens = int64_t(*size);
  }
}

}  // namespace

EngineMetrics read_engine_metrics(std::string_view text) {
  const Exposition found = formats::read_exposition(text, kPrefixes);
  EngineMetrics metrics;
  metrics.cut_off = found.cut_off;
  for (const EngineNames& names : kEngines) {
    metrics.running = value(found, names.running);
    metrics.requests = value(found, names.requests);
    // Old TensorRT-LLM counts only what is done.
    if (!metrics.running && !metrics.requests) continue;
    metrics.engine = names.engine;
    metrics.waiting = value(found, names.waiting);
    metrics.cache_use = value(found, names.cache_use, Over::highest);
    metrics.preemptions = value(found, names.preemptions);
    metrics.prompt_tokens = value(found, names.prompt_tokens);
    metrics.output_tokens = value(found, names.output_tokens);
    metrics.prefix_found = value(found, names.prefix_found);
    if (metrics.prefix_found) metrics.prefix_asked = value(found, names.prefix_asked);
    metrics.prompt_seconds = value(found, names.prompt_seconds);
    metrics.output_seconds = value(found, names.output_seconds);
    metrics.first_token = histogram(found, names.first_token);
    metrics.inter_token = histogram(found, names.inter_token);
    metrics.request = histogram(found, names.request);
    metrics.queue = histogram(found, names.queue);
    read_cache(found, metrics);
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
  set("requests", metrics.requests);
  set("prompt_tokens", metrics.prompt_tokens);
  set("output_tokens", metrics.output_tokens);
  set("prefix_tokens_asked", metrics.prefix_asked);
  set("prefix_tokens_found", metrics.prefix_found);
  if (metrics.cache_tokens) out.set("cache_tokens", *metrics.cache_tokens);
  return out;
}

}  // namespace vramwise::host
