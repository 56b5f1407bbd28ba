// Short hands for reading answers: absent members read as zero or empty.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"
#include "json/value.h"
#include "report/style.h"

namespace vramwise::report {

inline const json::Value& member(const json::Value& v, std::string_view key) {
  static const json::Value kNone;
  const json::Value* found = v.find(key);
  return found != nullptr ? *found : kNone;
}
inline int64_t integer(const json::Value& v, std::string_view key) {
  const json::Value& m = member(v, key);
  return m.is_integer() ? m.as_integer() : int64_t(m.as_double());
}
inline std::string text(const json::Value& v, std::string_view key) {
  return safe(member(v, key).as_string());
}
// A text of several lines, those behind the first indented: commands to be copied.
inline std::string lines(const json::Value& v, std::string_view key, int indent) {
  std::string out;
  for (const std::string_view line : split(member(v, key).as_string(), '\n')) {
    if (!out.empty()) out += "\n" + std::string(size_t(indent), ' ');
    out += safe(line);
  }
  return out;
}
inline std::string size_text(const Style& style, int64_t bytes) {
  return style.exact ? format_grouped(bytes) + " B" : format_bytes(Bytes(bytes));
}
inline std::string percent(double share, int decimals = 1) {
  return format_fixed(share * 100, decimals) + " %";
}

}  // namespace vramwise::report
