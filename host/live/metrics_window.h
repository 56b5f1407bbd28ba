// What a server did between two looks at its metrics: counters and histograms are since its start,
// so that their differences are of the time between.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "host/live/engine_metrics.h"
#include "json/value.h"

namespace vramwise::host {

// Absent: the engine does not say it.
struct MetricsWindow {
  std::string engine;
  std::optional<double> requests, prompt_tokens, output_tokens, preemptions;
  std::optional<double> hit_share;  // of prompt tokens, found in the prefix cache
  std::optional<double> prompt_seconds, output_seconds;
  std::optional<formats::MetricHistogram> first_token, inter_token, request, queue;
};

// Errors: inconsistent where the looks are of two engines or the server was started in between.
Result<MetricsWindow> window_between(const EngineMetrics& before, const EngineMetrics& after);

// {"requests":…,"ttft_seconds":{"n","mean","p50","p95","p99"},…}
json::Value to_json(const MetricsWindow& window);

}  // namespace vramwise::host
