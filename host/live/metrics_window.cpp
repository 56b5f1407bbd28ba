#include "host/live/metrics_window.h"

namespace vramwise::host {
namespace {

using formats::MetricHistogram;
using json::Value;

double rounded(double number) { return double(int64_t(number * 1e6 + 0.5)) / 1e6; }

// One figure of both looks; `fell` where it is smaller than it was.
std::optional<double> passed(const std::optional<double>& before,
                             const std::optional<double>& after, bool& fell) {
  if (!before || !after) return std::nullopt;
  if (*after < *before) fell = true;
  return *after - *before;
}

std::optional<MetricHistogram> passed(const std::optional<MetricHistogram>& before,
                                      const std::optional<MetricHistogram>& after, bool& fell) {
  if (!after) return std::nullopt;
  // A histogram without observations is not written by every exporter.
  auto difference = formats::between(before.value_or(MetricHistogram()), *after);
  if (!difference) fell = true;
  return difference;
}

Value spread(const MetricHistogram& histogram) {
  Value out = Value::object();
  out.set("n", int64_t(histogram.count + 0.5));
  if (histogram.count <= 0) return out;
  out.set("mean", rounded(histogram.mean()));
  for (const auto& [name, p] :
       {std::pair("p50", 0.5), std::pair("p95", 0.95), std::pair("p99", 0.99)}) {
    if (const auto q = histogram.quantile(p)) out.set(name, rounded(*q));
  }
  return out;
}

}  // namespace

Result<MetricsWindow> window_between(const EngineMetrics& before, const EngineMetrics& after) {
  if (before.engine != after.engine) {
    return fail(Error(ErrorCode::inconsistent, "the metrics are of " + before.engine + " and of " +
                                                   after.engine + ": two servers"));
  }
  MetricsWindow window;
  window.engine = after.engine;
  bool fell = false;
  window.requests = passed(before.requests, after.requests, fell);
  window.prompt_tokens = passed(before.prompt_tokens, after.prompt_tokens, fell);
  window.output_tokens = passed(before.output_tokens, after.output_tokens, fell);
  window.prompt_seconds = passed(before.prompt_seconds, after.prompt_seconds, fell);
  window.output_seconds = passed(before.output_seconds, after.output_seconds, fell);
  const auto asked = passed(before.prefix_asked, after.prefix_asked, fell);
  const auto found = passed(before.prefix_found, after.prefix_found, fell);
  if (asked && found && *asked > 0) window.hit_share = *found / *asked;
  window.first_token = passed(before.first_token, after.first_token, fell);
  window.inter_token = passed(before.inter_token, after.inter_token, fell);
  window.request = passed(before.request, after.request, fell);
  window.queue = passed(before.queue, after.queue, fell);
  if (fell) {
    return fail(
        Error(ErrorCode::inconsistent, "a counter of the server is smaller afterwards than before")
            .hint("it was started again in between, or the two looks are swapped"));
  }
  // A gauge with old SGLang: it may fall.
  bool gauge = false;
  window.preemptions = passed(before.preemptions, after.preemptions, gauge);
  if (gauge) window.preemptions.reset();
  return window;
}

Value to_json(const MetricsWindow& window) {
  Value out = Value::object();
  const auto set = [&](const char* key, const std::optional<double>& value) {
    if (value) out.set(key, rounded(*value));
  };
  set("requests", window.requests);
  set("prompt_tokens", window.prompt_tokens);
  set("output_tokens", window.output_tokens);
  set("preemptions", window.preemptions);
  set("prefix_hit_share", window.hit_share);
  const auto histogram = [&](const char* key, const std::optional<MetricHistogram>& values) {
    if (values) out.set(key, spread(*values));
  };
  histogram("queue_seconds", window.queue);
  histogram("ttft_seconds", window.first_token);
  histogram("itl_seconds", window.inter_token);
  histogram("request_seconds", window.request);
  return out;
}

}  // namespace vramwise::host
