#include "apps/cli/chart_svg.h"

#include <algorithm>

#include "base/text.h"

namespace vramwise::cli {
namespace {

constexpr double kWidth = 640;
constexpr double kHeight = 220;
constexpr double kLeft = 64;
constexpr double kRight = 12;
constexpr double kTop = 12;
constexpr double kBottom = 28;
constexpr size_t kMostPoints = 1200;  // a line; more are not seen

// The next of 1, 2, 5, 10, … at or above x.
double round_step(double x) {
  double step = 1;
  while (step > x) step /= 10;
  while (step * 10 <= x) step *= 10;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (step * factor >= x) return step * factor;
  }
  return step * 10;
}

std::string number(double value) {
  const int decimals = value >= 100 || value == double(int64_t(value)) ? 0 : value >= 1 ? 1 : 3;
  std::string text = format_fixed(value, decimals);
  return text;
}

std::string at(double v) { return format_fixed(v, 1); }

}  // namespace

std::string html_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string chart_svg(const Chart& chart) {
  double x_top = 0;
  double y_top = chart.y_top;
  for (const ChartSeries& series : chart.series) {
    for (const auto& [x, y] : series.points) {
      x_top = std::max(x_top, x);
      if (chart.y_top <= 0) y_top = std::max(y_top, y);
    }
  }
  if (x_top <= 0) x_top = 1;
  if (y_top <= 0) y_top = 1;
  const double y_step = round_step(y_top / 4);
  const double x_step = round_step(x_top / 6);
  if (chart.y_top <= 0) {
    double top = y_step;
    while (top < y_top) top += y_step;
    y_top = top;
  }
  const auto px = [&](double x) { return kLeft + x / x_top * (kWidth - kLeft - kRight); };
  const auto py = [&](double y) {
    return kHeight - kBottom - std::clamp(y / y_top, 0.0, 1.0) * (kHeight - kTop - kBottom);
  };
  std::string out = "<svg viewBox=\"0 0 " + at(kWidth) + " " + at(kHeight) +
                    "\" role=\"img\" aria-label=\"" + html_text(chart.title) + "\">\n";
  for (double y = 0; y <= y_top * 1.0001; y += y_step) {
    out += "<line class=\"grid\" x1=\"" + at(kLeft) + "\" x2=\"" + at(kWidth - kRight) +
           "\" y1=\"" + at(py(y)) + "\" y2=\"" + at(py(y)) + "\"/><text x=\"" + at(kLeft - 6) +
           "\" y=\"" + at(py(y) + 4) + "\" text-anchor=\"end\">" + number(y) +
           html_text(chart.unit) + "</text>\n";
  }
  for (double x = 0; x <= x_top * 1.0001; x += x_step) {
    out += "<text x=\"" + at(px(x)) + "\" y=\"" + at(kHeight - 8) + "\" text-anchor=\"middle\">" +
           number(x) + html_text(chart.x_unit) + "</text>\n";
  }
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const ChartSeries& series = chart.series[i];
    if (series.points.empty()) continue;
    const size_t every = series.points.size() / kMostPoints + 1;
    std::string path;
    double last_y = 0;
    for (size_t k = 0; k < series.points.size(); k += every) {
      const auto& [x, y] = series.points[k];
      if (series.step && !path.empty()) path += "L" + at(px(x)) + " " + at(last_y);
      last_y = py(y);
      path += (path.empty() ? "M" : "L") + at(px(x)) + " " + at(last_y);
    }
    out += "<path class=\"s" + std::to_string(i % 6) + (series.dashed ? " dashed" : "") +
           "\" d=\"" + path + "\"><title>" + html_text(series.name) + "</title></path>\n";
  }
  return out + "</svg>\n";
}

}  // namespace vramwise::cli
