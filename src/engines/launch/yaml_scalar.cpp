// Types of plain YAML scalars.
#include "base/text.h"
#include "engines/launch/yaml.h"

namespace vramwise::engines::launch {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A float of YAML 1.1 needs a point; "1e3" without one is text to PyYAML.
bool looks_like_float(std::string_view text) {
  bool digit = false, point = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_digit(c)) {
      digit = true;
    } else if (c == '.') {
      if (point) return false;
      point = true;
    } else if (c == '-' || c == '+') {
      if (i != 0 && text[i - 1] != 'e' && text[i - 1] != 'E') return false;
    } else if (c == 'e' || c == 'E') {
      if (!point) return false;
    } else {
      return false;
    }
  }
  return digit && point;
}

}  // namespace

json::Value yaml_scalar(std::string_view text) {
  text = trim(text);
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return {};
  const std::string lower = text.size() <= 5 ? to_lower(text) : std::string();
  if (lower == "true" || lower == "yes" || lower == "on") return true;
  if (lower == "false" || lower == "no" || lower == "off") return false;
  const bool signed_number = text[0] == '-' || text[0] == '+';
  if (is_digit(text[0]) || text[0] == '.' || (signed_number && text.size() > 1)) {
    std::string plain(text);
    if (contains(text, "_") && is_digit(text.back())) plain = replace_all(plain, "_", "");
    if (const auto n = parse_integer(plain)) return *n;
    if (looks_like_float(plain)) {
      if (const auto d = parse_number(plain)) return *d;
    }
  }
  return std::string(text);
}

std::string yaml_word(const json::Value& value) {
  switch (value.kind()) {
    case json::Kind::null: return "";
    case json::Kind::boolean: return value.as_boolean() ? "true" : "false";
    case json::Kind::string: return value.as_string();
    case json::Kind::integer: return format_integer(value.as_integer());
    default: return json::dump(value);
  }
}

}  // namespace vramwise::engines::launch
