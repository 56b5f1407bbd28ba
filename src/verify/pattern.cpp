#include "verify/pattern.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace vramwise::verify {
namespace {

constexpr size_t kLongestText = 300;
constexpr int kMaxDepth = 60;     // nested groups and values of one pattern
constexpr int kMaxSteps = 20000;  // of one pattern on one line: hostile lines end here

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t skip_blanks(std::string_view s, size_t at) {
  while (at < s.size() && is_blank(s[at])) ++at;
  return at;
}

// Reads a decimal number. A comma between digits separates thousands where three digits follow it
// each time, else it is a decimal point (locales that print "1900,00").
bool read_number(std::string_view s, double& value, int& decimals, size_t& used) {
  size_t i = 0;
  std::string plain;
  if (i < s.size() && (s[i] == '-' || s[i] == '+')) {
    if (s[i] == '-') plain += '-';
    ++i;
  }
  const size_t first = i;
  bool point = false;
  decimals = 0;
  while (i < s.size() && plain.size() < 40) {
    const char c = s[i];
    if (is_digit(c)) {
      plain += c;
      if (point) ++decimals;
    } else if (c == '.' && !point && i + 1 < s.size() && is_digit(s[i + 1])) {
      plain += '.';
      point = true;
    } else if (c == ',' && !point && i > first && i + 1 < s.size() && is_digit(s[i + 1])) {
      size_t run = 0;
      while (i + 1 + run < s.size() && is_digit(s[i + 1 + run])) ++run;
      if (run != 3) {
        plain += '.';
        point = true;
      }
    } else {
      break;
    }
    ++i;
  }
  if (i == first) return false;
  // An exponent, as Python prints very small and very large floats.
  if (i + 1 < s.size() && (s[i] == 'e' || s[i] == 'E')) {
    size_t j = i + 1;
    if (s[j] == '-' || s[j] == '+') ++j;
    if (j < s.size() && is_digit(s[j])) {
      plain += 'e';
      if (s[i + 1] == '-') plain += '-';
      while (j < s.size() && is_digit(s[j]) && plain.size() < 44) plain += s[j++];
      i = j;
    }
  }
  const auto parsed = parse_number(plain);
  if (!parsed) return false;
  value = *parsed;
  used = i;
  return true;
}

double power_of_ten(int n) {
  double p = 1;
  for (int i = 0; i < n; ++i) p /= 10;
  return p;
}

struct UnitName {
  std::string_view name;
  double bytes;
};
// "GB" in the logs of serving engines is 2^30 (checked: tokens x bytes per token meet only so).
constexpr double kKi = 1024, kMi = 1048576, kGi = 1073741824, kTi = 1099511627776;
constexpr std::array kUnits = {UnitName{"TiB", kTi}, UnitName{"GiB", kGi}, UnitName{"MiB", kMi},
                               UnitName{"KiB", kKi}, UnitName{"TB", kTi},  UnitName{"GB", kGi},
                               UnitName{"MB", kMi},  UnitName{"KB", kKi},  UnitName{"kB", kKi},
                               UnitName{"GBs", kGi}, UnitName{"bytes", 1}, UnitName{"byte", 1},
                               UnitName{"B", 1}};

class Matcher {
 public:
  Matcher(std::string_view line, size_t start, std::vector<Capture>& out)
      : line_(line), start_(start), out_(out) {}

  std::optional<size_t> run(std::string_view p, size_t at, int depth = 0) {
    if (depth > kMaxDepth || ++steps_ > kMaxSteps) return std::nullopt;
    while (!p.empty()) {
      const char c = p.front();
      if (c == '{') return value(p, at, depth);
      if (c == '[') {
        const size_t close = p.find(']');
        if (close == std::string_view::npos) return std::nullopt;
        for (const std::string_view choice : split(p.substr(1, close - 1), '|')) {
          const size_t kept = out_.size();
          if (const auto middle = run(choice, at, depth + 1)) {
            if (const auto end = run(p.substr(close + 1), *middle, depth + 1)) return end;
          }
          out_.resize(kept);
        }
        return std::nullopt;
      }
      if (c == '(') {
        const size_t close = p.find(")?");
        if (close == std::string_view::npos) return std::nullopt;
        const size_t kept = out_.size();
        if (const auto middle = run(p.substr(1, close - 1), at, depth + 1)) {
          if (const auto end = run(p.substr(close + 2), *middle, depth + 1)) return end;
        }
        out_.resize(kept);
        p.remove_prefix(close + 2);
        continue;
      }
      if (c == ' ') {
        if (at < line_.size() && !is_blank(line_[at])) return std::nullopt;
        if (at >= line_.size() && p.size() > 1) return broken_off();
        at = skip_blanks(line_, at);
      } else if (c == '~') {
        at = skip_blanks(line_, at);
      } else {
        if (c == '\\' && p.size() > 1) p.remove_prefix(1);
        if (at >= line_.size()) return broken_off();
        if (line_[at] != p.front()) return std::nullopt;
        ++at;
      }
      p.remove_prefix(1);
    }
    return at;
  }

  // Did the line end where the pattern wanted more?
  bool ended() const { return ended_; }

 private:
  std::nullopt_t broken_off() {
    ended_ = true;
    return std::nullopt;
  }

  std::optional<size_t> value(std::string_view p, size_t at, int depth) {
    const size_t close = p.find('}');
    const size_t colon = p.find(':');
    if (close == std::string_view::npos || colon > close) return std::nullopt;
    Capture capture;
    capture.name = p.substr(1, colon - 1);
    const std::string_view kind = p.substr(colon + 1, close - colon - 1);
    const std::string_view rest = p.substr(close + 1);
    size_t used = 0;
    if (kind == "b") {
      // The blank-separated word before the anchor.
      size_t end = start_;
      while (end > 0 && is_blank(line_[end - 1])) --end;
      size_t begin = end;
      while (begin > 0 && !is_blank(line_[begin - 1])) --begin;
      capture.text = line_.substr(begin, end - begin);
    } else if (kind == "n" || kind == "x" || kind == "gib" || kind == "mib") {
      int decimals = 0;
      if (at >= line_.size()) return broken_off();
      if (!read_number(line_.substr(at), capture.value, decimals, used)) return std::nullopt;
      if (kind == "n" && decimals > 0) return std::nullopt;
      capture.rounding = decimals > 0 ? power_of_ten(decimals) / 2 : 0;
      capture.number = true;
      if (kind == "gib" || kind == "mib") {
        const double unit = kind == "gib" ? kGi : kMi;
        capture.rounding = power_of_ten(decimals) / 2 * unit;
        capture.value *= unit;
        capture.unit = Unit::bytes;
      }
    } else if (kind == "size") {
      if (!read_size(line_.substr(at), capture, used)) {
        // A number whose unit stands on the next line, or none yet.
        int decimals = 0;
        double number = 0;
        if (at < line_.size() && !read_number(line_.substr(at), number, decimals, used)) {
          return std::nullopt;
        }
        return skip_blanks(line_, at + used) >= line_.size() ? broken_off() : std::nullopt;
      }
    } else if (kind == "w") {
      while (at + used < line_.size() && !is_blank(line_[at + used]) &&
             std::string_view(",)\"'").find(line_[at + used]) == std::string_view::npos) {
        ++used;
      }
      if (used == 0) return at >= line_.size() ? broken_off() : std::nullopt;
    } else if (kind == "r") {
      used = std::min(line_.find('\n', at), line_.size()) - at;
    } else {  // "t": the shortest text behind which the rest matches
      for (size_t n = 0; n <= kLongestText && at + n <= line_.size(); ++n) {
        const size_t kept = out_.size();
        Capture text = capture;
        text.text = line_.substr(at, n);
        if (!text.name.empty()) out_.push_back(text);
        if (const auto end = run(rest, at + n, depth + 1)) return end;
        out_.resize(kept);
      }
      return std::nullopt;
    }
    if (kind != "b") capture.text = line_.substr(at, used);
    if (!capture.name.empty()) out_.push_back(capture);
    return run(rest, at + used, depth + 1);
  }

  std::string_view line_;
  size_t start_;
  std::vector<Capture>& out_;
  int steps_ = 0;
  bool ended_ = false;
};

// What stands before the anchor in a pattern: "{name:b}" or nothing.
size_t head_length(std::string_view pattern) {
  if (!starts_with(pattern, "{")) return 0;
  const size_t close = pattern.find('}');
  return close == std::string_view::npos ? 0 : close + 1;
}

}  // namespace

std::string_view anchor_of(std::string_view pattern) {
  const std::string_view body = pattern.substr(head_length(pattern));
  const size_t end = std::min(body.find_first_of("{[(~\\"), body.size());
  std::string_view anchor = body.substr(0, end);
  while (!anchor.empty() && anchor.back() == ' ') anchor.remove_suffix(1);
  return anchor;
}

bool match(std::string_view pattern, std::string_view line, size_t at, std::vector<Capture>& out) {
  out.clear();
  Matcher matcher(line, at, out);
  const bool found = matcher.run(pattern, at).has_value();
  if (!found) out.clear();
  return found;
}

bool breaks_off(std::string_view pattern, std::string_view line, size_t at) {
  if (contains(pattern, ":t}")) return false;
  std::vector<Capture> none;
  Matcher matcher(line, at, none);
  return !matcher.run(pattern, at).has_value() && matcher.ended();
}

bool read_size(std::string_view text, Capture& out, size_t& used) {
  int decimals = 0;
  if (!read_number(text, out.value, decimals, used)) return false;
  const size_t behind = skip_blanks(text, used);
  for (const UnitName& unit : kUnits) {
    if (!starts_with(text.substr(behind), unit.name)) continue;
    const size_t end = behind + unit.name.size();
    // A longer word is another one ("Bytes/s" is no size).
    if (end < text.size() && ((text[end] | 32) >= 'a' && (text[end] | 32) <= 'z')) continue;
    out.value *= unit.bytes;
    out.rounding = (decimals > 0 || unit.bytes > 1) ? power_of_ten(decimals) / 2 * unit.bytes : 0;
    out.unit = Unit::bytes;
    out.number = true;
    used = end;
    return true;
  }
  return false;
}

}  // namespace vramwise::verify
