// The picture of occupancy over time as a file of its own: SVG, or a page around it.
#include <algorithm>

#include "base/text.h"
#include "report/fields.h"
#include "report/text.h"

namespace vramwise::report {

using json::Value;

namespace {

std::string escaped(std::string_view words) {
  std::string out = replace_all(std::string(words), "&", "&amp;");
  out = replace_all(std::move(out), "<", "&lt;");
  return replace_all(std::move(out), ">", "&gt;");
}

std::string at(double x, double y) { return format_fixed(x, 1) + "," + format_fixed(y, 1) + " "; }

}  // namespace

std::string occupancy_svg(const Value& answer) {
  const Value& block = member(answer, "simulate");
  const Value& timeline = member(block, "timeline");
  const json::Array& mean = member(timeline, "mean").as_array();
  const json::Array& low = member(timeline, "low").as_array();
  const json::Array& high = member(timeline, "high").as_array();
  constexpr double kWidth = 960, kLeft = 56, kTop = 24, kBottom = 320;
  const double span = kBottom - kTop;
  const size_t n = mean.size();
  const auto x = [&](size_t i) {
    return kLeft + (kWidth - kLeft - 16) * (double(i) + 0.5) / double(std::max<size_t>(1, n));
  };
  const auto y = [&](const Value& v) {
    return kBottom - span * std::clamp(v.as_double(), 0.0, 1.0);
  };
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 360\" role=\"img\" "
      "font-family=\"system-ui,sans-serif\" font-size=\"12\">\n<title>" +
      escaped(text(block, "answer")) +
      "</title>\n<rect width=\"960\" height=\"360\" fill=\"#fff\"/>\n";
  for (const int share : {0, 25, 50, 75, 100}) {
    const double line = kBottom - span * share / 100;
    svg += "<line x1=\"56\" x2=\"944\" y1=\"" + format_fixed(line, 1) + "\" y2=\"" +
           format_fixed(line, 1) + "\" stroke=\"#ddd\"/>\n<text x=\"48\" y=\"" +
           format_fixed(line + 4, 1) + "\" text-anchor=\"end\">" + format_integer(share) +
           " %</text>\n";
  }
  if (n > 0 && low.size() == n && high.size() == n) {
    std::string band;
    for (size_t i = 0; i < n; ++i) band += at(x(i), y(high[i]));
    for (size_t i = n; i-- > 0;) band += at(x(i), y(low[i]));
    std::string line;
    for (size_t i = 0; i < n; ++i) line += at(x(i), y(mean[i]));
    svg += "<polygon points=\"" + band + "\" fill=\"#c7d2fe\"/>\n<polyline points=\"" + line +
           "\" fill=\"none\" stroke=\"#3730a3\" stroke-width=\"1.5\"/>\n";
  }
  const double seconds = member(timeline, "seconds_per_point").as_double() * double(n);
  svg += "<text x=\"56\" y=\"342\">0</text>\n<text x=\"944\" y=\"342\" text-anchor=\"end\">" +
         format_fixed(seconds, 0) +
         " s</text>\n<text x=\"500\" y=\"342\" text-anchor=\"middle\">"
         "cache in use over time: mean and range</text>\n</svg>\n";
  return svg;
}

std::string occupancy_html(const Value& answer) {
  Style plain;
  plain.width = 0;
  plain.color = false;
  const std::string words = simulate_text(answer, plain);
  // The first line is the answer; the picture replaces the one made of characters.
  return "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
         "content=\"width=device-width\"><title>vramwise simulate</title>\n"
         "<style>body{font:15px system-ui,sans-serif;max-width:980px;margin:2em auto;padding:0 "
         "1em}pre{white-space:pre-wrap;font:13px ui-monospace,monospace}</style>\n<h1>" +
         escaped(text(member(answer, "simulate"), "answer")) + "</h1>\n" + occupancy_svg(answer) +
         "<pre>" + escaped(words) + "</pre></html>\n";
}

}  // namespace vramwise::report
