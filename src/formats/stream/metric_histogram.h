// Prometheus histograms: what servers say of latencies at /metrics, and what came between two
// looks. Source of the rules: prometheus/docs, "Histograms and summaries" (cumulative buckets by
// upper bound `le`, quantiles linear within a bucket).
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/stream/exposition.h"

namespace vramwise::formats {

struct MetricHistogram {
  double count = 0;
  double sum = 0;  // of what was observed, in the metric's unit
  // Upper bound and observations up to it, ascending; the last bound may be infinite.
  std::vector<std::pair<double, double>> buckets;

  double mean() const;  // 0 without observations
  // Where it lies beyond the highest finite bound that bound; nullopt without observations or
  // buckets.
  std::optional<double> quantile(double p) const;
};

// Over all label sets. Negative and non-finite parts do not count; counts that fall from one bound
// to the next (a scrape in the middle of a write) are levelled. nullopt: no such histogram.
std::optional<MetricHistogram> histogram_of(const Exposition& text, std::string_view name);

// What was observed between two looks; nullopt where a count fell: the server was started again.
std::optional<MetricHistogram> between(const MetricHistogram& earlier,
                                       const MetricHistogram& later);

}  // namespace vramwise::formats
