#include "host/live/trend.h"

#include <cmath>

namespace vramwise::host {

Trend fit_trend(std::span<const Point> points) {
  Trend trend;
  trend.points = int(points.size());
  if (points.empty()) return trend;
  double mean_t = 0;
  double mean_v = 0;
  for (const Point& p : points) {
    mean_t += p.seconds;
    mean_v += p.value;
  }
  mean_t /= double(points.size());
  mean_v /= double(points.size());
  double tt = 0;
  double tv = 0;
  for (const Point& p : points) {
    tt += (p.seconds - mean_t) * (p.seconds - mean_t);
    tv += (p.seconds - mean_t) * (p.value - mean_v);
  }
  trend.last_seconds = points.back().seconds;
  trend.last_value = mean_v;
  if (tt <= 0 || points.size() < 3) return trend;
  trend.slope = tv / tt;
  double rest = 0;
  for (const Point& p : points) {
    const double off = p.value - mean_v - trend.slope * (p.seconds - mean_t);
    rest += off * off;
  }
  trend.slope_error = std::sqrt(rest / double(points.size() - 2) / tt);
  trend.last_value = mean_v + trend.slope * (trend.last_seconds - mean_t);
  return trend;
}

std::optional<double> seconds_until(const Trend& trend, double limit, double horizon) {
  if (!trend.rising()) return std::nullopt;
  const double seconds = (limit - trend.last_value) / trend.slope;
  if (seconds < 0) return 0.0;
  if (seconds > horizon) return std::nullopt;
  return seconds;
}

}  // namespace vramwise::host
