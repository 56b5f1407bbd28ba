#include "workload/trace_lines.h"

#include "base/text.h"

namespace vramwise::workload {
namespace {

// Days since 1970-01-01. Source: Hinnant, chrono-compatible low-level date algorithms.
int64_t days_from_civil(int64_t y, int64_t m, int64_t d) {
  y -= m <= 2;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t yoe = y - era * 400;
  const int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  const int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  return era * 146097 + doe - 719468;
}

}  // namespace

Lines::Lines(std::string_view text) : text_(text) {
  if (starts_with(text_, "\xef\xbb\xbf")) text_.remove_prefix(3);
  const size_t end = text_.find_first_of("\r\n");
  const bool old = end != text_.npos && text_[end] == '\r' &&
                   (end + 1 == text_.size() || text_[end + 1] != '\n');
  if (old) end_ = '\r';
}

std::optional<Line> Lines::next() {
  while (!text_.empty()) {
    const size_t end = text_.find(end_);
    std::string_view line = text_.substr(0, end);
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    ++number_;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!trim(line).empty()) return Line{line, number_};
  }
  return std::nullopt;
}

char separator_of(std::string_view header) {
  for (const char mark : {',', ';', '\t'}) {
    if (header.find(mark) != header.npos) return mark;
  }
  return ',';
}

void split_fields(std::string_view line, char separator, std::vector<std::string_view>& fields) {
  fields.clear();
  size_t begin = 0;
  bool quoted = false;
  for (size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '"') quoted = !quoted;
    if (i < line.size() && (line[i] != separator || quoted)) continue;
    std::string_view field = trim(line.substr(begin, i - begin));
    if (field.size() >= 2 && field.front() == '"' && field.back() == '"') {
      field = field.substr(1, field.size() - 2);
    }
    fields.push_back(field);
    begin = i + 1;
  }
}

std::optional<double> clock_time(std::string_view text) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  const auto part = [&](size_t at, size_t length) {
    return parse_integer(text.substr(at, length));
  };
  const auto year = part(0, 4), month = part(5, 2), day = part(8, 2);
  const auto hour = part(11, 2), minute = part(14, 2);
  size_t end = 17;
  while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == '.')) ++end;
  const auto second = parse_number(text.substr(17, end - 17));
  if (!year || !month || !day || !hour || !minute || !second || *month < 1 || *month > 12 ||
      *day < 1 || *day > 31 || *hour > 24 || *minute > 60 || *second > 61) {
    return std::nullopt;
  }
  double zone = 0;
  const std::string_view rest = trim(text.substr(end));
  if (rest.size() == 6 && (rest[0] == '+' || rest[0] == '-')) {
    const auto hours = parse_integer(rest.substr(1, 2));
    const auto minutes = parse_integer(rest.substr(4, 2));
    if (!hours || !minutes) return std::nullopt;
    zone = double(*hours * 3600 + *minutes * 60) * (rest[0] == '-' ? -1 : 1);
  } else if (!rest.empty() && rest != "Z") {
    return std::nullopt;
  }
  return double(days_from_civil(*year, *month, *day) * 86400 + *hour * 3600 + *minute * 60) +
         *second - zone;
}

}  // namespace vramwise::workload
