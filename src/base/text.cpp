#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/decimal.h"
#include "base/sort.h"

namespace vramwise {
namespace {

constexpr std::array<int64_t, 10> kPowersOfTen = {
    1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000};

// value / unit with `decimals` digits, rounded half away from zero, on integers only. 128-bit
// helpers are avoided (the WebAssembly runtime library needs extra symbols for them), so the
// fraction is scaled digit by digit.
std::string divide_to_text(int64_t value, int64_t unit, int decimals) {
  const bool negative = value < 0;
  // Negating the smallest int64 would overflow; such a size is saturated and prints as the largest.
  uint64_t magnitude = negative ? uint64_t(-(value + 1)) + 1 : uint64_t(value);
  const uint64_t divisor = uint64_t(unit);
  uint64_t whole = magnitude / divisor;
  uint64_t rest = magnitude % divisor;
  std::string digits;
  for (int i = 0; i < decimals; ++i) {
    rest *= 10;
    digits += char('0' + rest / divisor);
    rest %= divisor;
  }
  if (rest * 2 >= divisor) {  // carry upwards
    int i = int(digits.size()) - 1;
    while (i >= 0 && digits[size_t(i)] == '9') digits[size_t(i--)] = '0';
    if (i >= 0) {
      ++digits[size_t(i)];
    } else {
      ++whole;
    }
  }
  std::string text = negative ? "-" : "";
  text += std::to_string(whole);
  if (decimals > 0) text += "." + digits;
  return text;
}

}  // namespace

std::string format_integer(int64_t n) { return std::to_string(n); }

std::string format_grouped(int64_t n) {
  std::string text = std::to_string(n);
  const size_t first = text[0] == '-' ? 1 : 0;
  for (size_t i = text.size(); i > first + 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string format_fixed(double value, int decimals) {
  if (!std::isfinite(value)) return value > 0 ? "inf" : value < 0 ? "-inf" : "nan";
  decimals = std::clamp(decimals, 0, 9);
  const double scale = double(kPowersOfTen[size_t(decimals)]);
  const double scaled = value * scale;
  if (std::fabs(scaled) >= 9.0e18) return format_number(value);
  const int64_t rounded = int64_t(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  return divide_to_text(rounded, kPowersOfTen[size_t(decimals)], decimals);
}

std::string format_number(double value) {
  if (!std::isfinite(value)) return "null";
  if (value == std::floor(value) && std::fabs(value) < 1e15) {
    return std::to_string(int64_t(value));
  }
  return shortest_text(value);
}

std::string format_bytes(Bytes size, int decimals) {
  const int64_t n = size.count();
  const int64_t magnitude = n < 0 ? (n == kInt64Min ? kInt64Max : -n) : n;
  struct Unit {
    int64_t bytes;
    std::string_view name;
  };
  constexpr std::array<Unit, 5> kUnits = {{{int64_t{1} << 50, " PiB"},
                                           {int64_t{1} << 40, " TiB"},
                                           {int64_t{1} << 30, " GiB"},
                                           {int64_t{1} << 20, " MiB"},
                                           {int64_t{1} << 10, " KiB"}}};
  for (const Unit& unit : kUnits) {
    // TiB and above only from 10 of them on: "1,331.20 GiB" compares better with cards than TiB.
    const int64_t from =
        unit.bytes >= (int64_t{1} << 40) ? saturating_multiply(unit.bytes, 10) : unit.bytes;
    if (magnitude >= from) return divide_to_text(n, unit.bytes, decimals) + std::string(unit.name);
  }
  return std::to_string(n) + " B";
}

std::string format_gib(Bytes size, int decimals) {
  return divide_to_text(size.count(), int64_t{1} << 30, decimals);
}

std::string format_mib(Bytes size, int decimals) {
  return divide_to_text(size.count(), int64_t{1} << 20, decimals);
}

std::optional<int64_t> parse_integer(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  int64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  size_t i = 0;
  bool negative = false;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) negative = text[i++] == '-';
  std::string digits;  // significant ones; a last 1 stands for what is cut off and not zero
  int64_t exponent = 0;
  bool any = false;
  const auto take_digits = [&](bool fraction) {
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      any = true;
      if (digits.empty() && text[i] == '0') {
        if (fraction) --exponent;
      } else if (digits.size() + 1 < kMaxDecimalDigits) {
        digits += text[i];
        if (fraction) --exponent;
      } else {
        if (text[i] != '0' && digits.size() < kMaxDecimalDigits) {
          digits += '1';
          --exponent;
        }
        if (!fraction) ++exponent;
      }
    }
  };
  take_digits(false);
  if (i < text.size() && text[i] == '.') {
    ++i;
    take_digits(true);
  }
  if (!any) return std::nullopt;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    const auto given = parse_integer(text.substr(i));
    if (!given || *given > 100'000 || *given < -100'000) return std::nullopt;
    exponent += *given;
    i = text.size();
  }
  if (i != text.size()) return std::nullopt;
  constexpr std::array<double, 23> kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                              1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                              1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  std::optional<double> value;
  if (digits.size() <= 15 && exponent >= -22 && exponent <= 22) {
    // Both numbers are exact doubles, so one operation rounds once.
    double whole = 0;
    for (const char c : digits) whole = whole * 10 + double(c - '0');
    value = exponent < 0 ? whole / kPowers[size_t(-exponent)] : whole * kPowers[size_t(exponent)];
  } else {
    value = nearest_double(digits, exponent);
  }
  if (!value) return std::nullopt;
  return negative ? -*value : *value;
}

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  }
  return lower;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  while (true) {
    const size_t end = text.find(separator, start);
    if (end == std::string_view::npos) break;
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  parts.push_back(text.substr(start));
  return parts;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  if (from.empty()) return text;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

int edit_distance(std::string_view a, std::string_view b, int limit) {
  const int na = int(a.size());
  const int nb = int(b.size());
  if (std::abs(na - nb) > limit) return limit + 1;
  std::vector<int> before(size_t(nb) + 1), previous(size_t(nb) + 1), current(size_t(nb) + 1);
  for (int j = 0; j <= nb; ++j) previous[size_t(j)] = j;
  for (int i = 1; i <= na; ++i) {
    current[0] = i;
    for (int j = 1; j <= nb; ++j) {
      const bool same = a[size_t(i) - 1] == b[size_t(j) - 1];
      int best = std::min({previous[size_t(j)] + 1, current[size_t(j) - 1] + 1,
                           previous[size_t(j) - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[size_t(i) - 1] == b[size_t(j) - 2] &&
          a[size_t(i) - 2] == b[size_t(j) - 1]) {
        best = std::min(best, before[size_t(j) - 2] + 1);
      }
      current[size_t(j)] = best;
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return std::min(previous[size_t(nb)], limit + 1);
}

std::vector<std::string> nearest_names(std::string_view name,
                                       const std::vector<std::string_view>& candidates,
                                       size_t count) {
  // A very long name cannot be a typo of ours, and the search is quadratic in it.
  if (name.empty() || name.size() > 200) return {};
  struct Scored {
    int distance;
    size_t order;
  };
  const std::string wanted = to_lower(name);
  const int limit = std::max(2, int(wanted.size()) / 3);
  std::vector<Scored> scored;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const std::string candidate = to_lower(candidates[i]);
    int distance = edit_distance(wanted, candidate, limit);
    // "h100" should find "h100-sxm" although many letters are missing.
    if (distance > limit && wanted.size() >= 3 && contains(candidate, wanted)) {
      distance = 1 + int(candidate.size() - wanted.size()) / 8;
    }
    if (distance <= limit) scored.push_back({distance, i});
  }
  sort_stable(scored, [](const Scored& x, const Scored& y) {
    return x.distance != y.distance ? x.distance < y.distance : x.order < y.order;
  });
  std::vector<std::string> names;
  for (const Scored& s : scored) {
    if (names.size() == count) break;
    names.emplace_back(candidates[s.order]);
  }
  return names;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0;
  size_t star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace vramwise
