// Prometheus' text format, as engines answer at /metrics.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vramwise::formats {

struct MetricSample {
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;

  // "" when there is no such label.
  std::string_view label(std::string_view key) const;
};

// Source of the rules: prometheus/docs, "Exposition formats", text format 0.0.4 (OpenMetrics' end
// mark and exemplars are left out as well).
struct Exposition {
  std::vector<MetricSample> samples;
  int64_t faulty = 0;    // lines that are neither comments nor samples
  bool cut_off = false;  // more samples than are kept

  bool has(std::string_view name) const;
  // Over all label sets: engines label by model and, with several, by engine number. NaN samples do
  // not count; nullopt when there is none.
  std::optional<double> sum(std::string_view name) const;
  std::optional<double> highest(std::string_view name) const;
  const MetricSample* first(std::string_view name) const;
};

// Never fails: rubbish has only faulty lines. At most 100,000 samples are kept; of a series that
// stands twice, the later one. With `prefixes`, only the lines that start with one of them are read
// and counted: a page that a collector has joined from a whole cluster holds few of ours.
Exposition read_exposition(std::string_view text, std::span<const std::string_view> prefixes = {});

}  // namespace vramwise::formats
