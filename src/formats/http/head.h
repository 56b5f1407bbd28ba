// What HTTP answers say in their header lines: pure text, so that a fuzzer can have it. The
// transfer itself is in host/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramwise::formats {

struct HttpHead {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> fields;  // names in lower case

  // Takes one line as it came. A status line starts over: what came before was an interim answer.
  void add_line(std::string_view line);
  // "" when absent; the first one when given twice.
  std::string_view find(std::string_view lower_name) const;
};

// "bytes 0-1023/146515", "bytes */146515", "bytes 0-1023/*".
struct ContentRange {
  int64_t first = -1;  // -1: an unsatisfied range
  int64_t last = -1;
  int64_t total = -1;  // -1: not said
};
std::optional<ContentRange> parse_content_range(std::string_view value);

// Seconds to wait: a number, or a date seen from `now` (seconds since 1970). Never negative.
std::optional<int64_t> parse_retry_after(std::string_view value, int64_t now);

// The URL of rel="next" in a Link header.
std::optional<std::string> next_link(std::string_view value);

struct Url {
  std::string scheme;  // "http" or "https"
  std::string host;    // lower case; with brackets for IPv6
  int64_t port = 0;    // filled in when not written
  std::string target;  // path and query, starts with '/'

  std::string origin() const;
  std::string to_text() const { return origin() + target; }
  // For messages: without query (signatures stand there).
  std::string without_query() const;
  friend bool same_origin(const Url& a, const Url& b) {
    return a.scheme == b.scheme && a.host == b.host && a.port == b.port;
  }
};
// http and https only; names with user or password, blanks or control characters are refused.
std::optional<Url> parse_url(std::string_view text);
// Where a Location header leads to.
std::optional<Url> resolve_location(const Url& base, std::string_view location);

// Percent-encoded, for one part of a path.
std::string encode_path_part(std::string_view text);

}  // namespace vramwise::formats
