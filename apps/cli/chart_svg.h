// Line charts as SVG for reports that are one file.
#pragma once

#include <string>
#include <vector>

namespace vramwise::cli {

struct ChartSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x, y
  bool step = false;                              // a level that holds until the next point
  bool dashed = false;                            // a limit or a plan
};

struct Chart {
  std::string title;
  std::string unit;    // of y, behind its numbers
  std::string x_unit;  // "s"
  std::vector<ChartSeries> series;
  double y_top = 0;  // 0: the highest point
};

// An <svg> element; names are escaped. Colours are the CSS classes s0, s1, … of the page.
std::string chart_svg(const Chart& chart);

// &, <, > and quotes made harmless.
std::string html_text(const std::string& text);

}  // namespace vramwise::cli
