#include "formats/http/head.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "base/text.h"

namespace vramwise::formats {
namespace {

constexpr size_t kMostFields = 200;
constexpr size_t kLongestField = size_t{16} << 10;

bool is_digits(std::string_view text) {
  return !text.empty() && text.size() <= 18 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

int64_t number_or(std::string_view text, int64_t fallback) {
  return is_digits(text) ? *parse_integer(text) : fallback;
}

// Days from 1970-01-01 in the Gregorian calendar; month 1..12.
int64_t days_since_1970(int64_t year, int64_t month, int64_t day) {
  const int64_t y = month <= 2 ? year - 1 : year;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t year_of_era = y - era * 400;
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

// "Wed, 21 Oct 2015 07:28:00 GMT"
std::optional<int64_t> parse_http_date(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const size_t comma = text.find(", ");
  if (comma == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> parts = split(text.substr(comma + 2), ' ');
  if (parts.size() != 5 || parts[3].size() != 8) return std::nullopt;
  const auto month = std::find(kMonths.begin(), kMonths.end(), parts[1]);
  const int64_t day = number_or(parts[0], -1);
  const int64_t year = number_or(parts[2], -1);
  const int64_t hour = number_or(parts[3].substr(0, 2), -1);
  const int64_t minute = number_or(parts[3].substr(3, 2), -1);
  const int64_t second = number_or(parts[3].substr(6, 2), -1);
  if (month == kMonths.end() || day < 1 || day > 31 || year < 1970 || year > 9999 || hour < 0 ||
      hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) {
    return std::nullopt;
  }
  return days_since_1970(year, month - kMonths.begin() + 1, day) * 86400 + hour * 3600 +
         minute * 60 + second;
}

bool is_host(std::string_view host) {
  if (host.empty() || host.size() > 255) return false;
  return std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
           c == '[' || c == ']' || c == ':';
  });
}

}  // namespace

void HttpHead::add_line(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (starts_with(line, "HTTP/")) {
    fields.clear();
    status = 0;
    const size_t space = line.find(' ');
    if (space != std::string_view::npos) {
      const int64_t code = number_or(line.substr(space + 1, 3), 0);
      if (code >= 100 && code <= 599) status = int(code);
    }
    return;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return;
  if (fields.size() >= kMostFields || line.size() > kLongestField) return;
  fields.emplace_back(to_lower(line.substr(0, colon)), std::string(trim(line.substr(colon + 1))));
}

std::string_view HttpHead::find(std::string_view lower_name) const {
  for (const auto& [name, value] : fields) {
    if (name == lower_name) return value;
  }
  return {};
}

std::optional<ContentRange> parse_content_range(std::string_view value) {
  value = trim(value);
  constexpr std::string_view kUnit = "bytes ";
  if (!starts_with(to_lower(value), kUnit)) return std::nullopt;
  value = trim(value.substr(kUnit.size()));
  const size_t slash = value.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  ContentRange range;
  const std::string_view total = value.substr(slash + 1);
  if (total != "*") {
    if (!is_digits(total)) return std::nullopt;
    range.total = *parse_integer(total);
  }
  const std::string_view span = value.substr(0, slash);
  if (span == "*") return range;
  const size_t dash = span.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  if (!is_digits(span.substr(0, dash)) || !is_digits(span.substr(dash + 1))) return std::nullopt;
  range.first = *parse_integer(span.substr(0, dash));
  range.last = *parse_integer(span.substr(dash + 1));
  if (range.last < range.first) return std::nullopt;
  if (range.total >= 0 && range.last >= range.total) return std::nullopt;
  return range;
}

std::optional<int64_t> parse_retry_after(std::string_view value, int64_t now) {
  value = trim(value);
  if (is_digits(value)) return parse_integer(value);
  const auto date = parse_http_date(value);
  if (!date) return std::nullopt;
  return std::max<int64_t>(0, saturating_subtract(*date, now));
}

std::optional<std::string> next_link(std::string_view value) {
  for (size_t open = value.find('<'); open != std::string_view::npos;
       open = value.find('<', open + 1)) {
    const size_t close = value.find('>', open);
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view rest = value.substr(close + 1);
    const std::string_view parameters = rest.substr(0, rest.find('<'));
    if (contains(parameters, "rel=\"next\"") || contains(parameters, "rel=next")) {
      return std::string(value.substr(open + 1, close - open - 1));
    }
  }
  return std::nullopt;
}

std::string Url::origin() const {
  const int64_t usual = scheme == "https" ? 443 : 80;
  return scheme + "://" + host + (port == usual ? std::string() : ":" + format_integer(port));
}

std::string Url::without_query() const { return origin() + target.substr(0, target.find('?')); }

std::optional<Url> parse_url(std::string_view text) {
  constexpr size_t kLongest = size_t{8} << 10;
  if (text.size() > kLongest) return std::nullopt;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == '\x7f' || c == '\\') return std::nullopt;
  }
  Url url;
  const size_t colon = text.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  url.scheme = to_lower(text.substr(0, colon));
  if (url.scheme != "http" && url.scheme != "https") return std::nullopt;
  text.remove_prefix(colon + 3);
  const size_t end = std::min(text.find_first_of("/?#"), text.size());
  std::string_view authority = text.substr(0, end);
  if (contains(authority, "@")) return std::nullopt;
  const size_t bracket = authority.rfind(']');
  const size_t port = authority.rfind(':');
  url.port = url.scheme == "https" ? 443 : 80;
  if (port != std::string_view::npos && (bracket == std::string_view::npos || port > bracket)) {
    url.port = number_or(authority.substr(port + 1), 0);
    if (url.port < 1 || url.port > 65535) return std::nullopt;
    authority = authority.substr(0, port);
  }
  url.host = to_lower(authority);
  if (!is_host(url.host)) return std::nullopt;
  std::string_view target = text.substr(end);
  target = target.substr(0, target.find('#'));
  url.target = starts_with(target, "/") ? std::string(target) : "/" + std::string(target);
  return url;
}

std::optional<Url> resolve_location(const Url& base, std::string_view location) {
  location = trim(location);
  if (location.empty()) return std::nullopt;
  if (starts_with(location, "//")) return parse_url(base.scheme + ":" + std::string(location));
  if (starts_with(location, "/")) return parse_url(base.origin() + std::string(location));
  if (contains(location.substr(0, 9), "://")) return parse_url(location);
  const size_t query = base.target.find('?');
  const std::string path = base.target.substr(0, query);
  if (starts_with(location, "?")) return parse_url(base.origin() + path + std::string(location));
  return parse_url(base.origin() + path.substr(0, path.rfind('/') + 1) + std::string(location));
}

std::string encode_path_part(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      encoded += c;
    } else {
      encoded += '%';
      encoded += kHex[byte >> 4U];
      encoded += kHex[byte & 0xFU];
    }
  }
  return encoded;
}

}  // namespace vramwise::formats
