#include "formats/stream/metric_histogram.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace vramwise::formats {
namespace {

constexpr size_t kMostBuckets = 1000;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool counts(double value) { return value >= 0 && value < kInfinity; }

std::optional<double> bound(std::string_view le) {
  if (le == "+Inf" || le == "Inf" || le == "inf") return kInfinity;
  return parse_number(le);
}

void add(std::vector<std::pair<double, double>>& buckets, double le, double count) {
  const auto at = std::lower_bound(buckets.begin(), buckets.end(), le,
                                   [](const auto& bucket, double b) { return bucket.first < b; });
  if (at != buckets.end() && at->first == le) {
    at->second += count;
  } else if (buckets.size() < kMostBuckets) {
    buckets.insert(at, {le, count});
  }
}

// Observations up to a bound, by the nearest lower one where it is not a bucket's own.
double up_to(const std::vector<std::pair<double, double>>& buckets, double le) {
  double count = 0;
  for (const auto& [upper, cumulative] : buckets) {
    if (upper > le) break;
    count = cumulative;
  }
  return count;
}

void level(std::vector<std::pair<double, double>>& buckets) {
  double highest = 0;
  for (auto& [upper, cumulative] : buckets) {
    highest = std::max(highest, cumulative);
    cumulative = highest;
  }
}

}  // namespace

double MetricHistogram::mean() const { return count > 0 ? sum / count : 0; }

std::optional<double> MetricHistogram::quantile(double p) const {
  if (count <= 0 || buckets.empty() || buckets.back().second <= 0) return std::nullopt;
  const double rank = p * buckets.back().second;
  double lower = 0;
  double before = 0;
  for (const auto& [upper, cumulative] : buckets) {
    if (cumulative >= rank && cumulative > before) {
      if (upper == kInfinity) return lower;
      return lower +
             (upper - lower) * std::clamp((rank - before) / (cumulative - before), 0.0, 1.0);
    }
    if (upper < kInfinity) lower = upper;
    before = cumulative;
  }
  return lower;
}

std::optional<MetricHistogram> histogram_of(const Exposition& text, std::string_view name) {
  MetricHistogram found;
  bool any = false;
  for (const MetricSample& sample : text.samples) {
    if (!starts_with(sample.name, name) || !counts(sample.value)) continue;
    const std::string_view rest = std::string_view(sample.name).substr(name.size());
    if (rest == "_sum") {
      found.sum += sample.value;
    } else if (rest == "_count") {
      found.count += sample.value;
      any = true;
    } else if (rest == "_bucket") {
      if (const auto le = bound(sample.label("le")); le && *le >= 0) {
        add(found.buckets, *le, sample.value);
      }
    }
  }
  if (!any) return std::nullopt;
  level(found.buckets);
  return found;
}

std::optional<MetricHistogram> between(const MetricHistogram& earlier,
                                       const MetricHistogram& later) {
  if (later.count < earlier.count || later.sum < earlier.sum) return std::nullopt;
  MetricHistogram passed;
  passed.count = later.count - earlier.count;
  passed.sum = later.sum - earlier.sum;
  for (const auto& [upper, cumulative] : later.buckets) {
    passed.buckets.emplace_back(upper, std::max(0.0, cumulative - up_to(earlier.buckets, upper)));
  }
  level(passed.buckets);
  return passed;
}

}  // namespace vramwise::formats
