// Where a figure that is read again and again is heading.
#pragma once

#include <optional>
#include <span>

namespace vramwise::host {

struct Point {
  double seconds = 0;
  double value = 0;
};

// A line through points by least squares, with the standard error of its slope.
struct Trend {
  int points = 0;
  double slope = 0;  // of the value, a second
  double slope_error = 0;
  double last_seconds = 0;
  double last_value = 0;  // of the line, at the last point
  // Rising or falling beyond what the scatter explains.
  bool rising() const { return points >= 6 && slope > 0 && slope > 3 * slope_error; }
};

Trend fit_trend(std::span<const Point> points);

// Seconds from the last point until the line reaches `limit`; absent when it does not rise for
// certain, or not within `horizon` seconds.
std::optional<double> seconds_until(const Trend& trend, double limit, double horizon);

}  // namespace vramwise::host
