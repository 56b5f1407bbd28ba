// Scalars of YAML: their quotes, their ends and their types.
#include "base/text.h"
#include "engines/launch/literal.h"
#include "engines/launch/yaml.h"
#include "engines/launch/yaml_text.h"

namespace vramwise::engines::launch {
namespace yaml {

bool is_item(std::string_view text) {
  return text == "-" || starts_with(text, "- ") || starts_with(text, "-\t");
}

size_t quote_end(std::string_view text, size_t from) {
  const char quote = text[from];
  for (size_t i = from + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '\'' && i + 1 < text.size() && text[i + 1] == '\'') {
        ++i;
        continue;
      }
      return i;
    }
  }
  return kNone;
}

size_t key_colon(std::string_view text) {
  size_t i = 0;
  if (!text.empty() && (text[0] == '"' || text[0] == '\'')) {
    i = quote_end(text, 0);
    if (i == kNone) return kNone;
    ++i;
    while (i < text.size() && text[i] == ' ') ++i;
    return i < text.size() && text[i] == ':' && (i + 1 == text.size() || text[i + 1] == ' ')
               ? i
               : kNone;
  }
  if (text.empty() || text[0] == '{' || text[0] == '[' || text[0] == '#') return kNone;
  for (; i < text.size(); ++i) {
    if (text[i] == ':' && (i + 1 == text.size() || text[i + 1] == ' ' || text[i + 1] == '\t'))
      return i;
    if (text[i] == '#' && i > 0 && text[i - 1] == ' ') return kNone;
  }
  return kNone;
}

std::string_view without_comment(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#' && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t')) {
      return trim(text.substr(0, i));
    }
  }
  return trim(text);
}

namespace {

// -1 where a character is no hexadecimal digit.
int64_t hex_number(std::string_view digits) {
  int64_t code = 0;
  for (const char c : digits) {
    const size_t digit = std::string_view("0123456789abcdef").find(to_lower({&c, 1}));
    if (digit == kNone) return -1;
    code = code * 16 + int64_t(digit);
  }
  return code;
}

// The character of "\u0041"; `at` stands on its letter and is left on its last digit. What is no
// number stays as it is written, without the backslash.
void append_escaped(std::string_view text, size_t& at, size_t digits, std::string& out) {
  int64_t code = hex_number(text.substr(at + 1, digits));
  if (code < 0 || code > 0x10ffff) {
    out += text[at];
    return;
  }
  at += digits;
  // JSON's way of writing what lies beyond 16 bits: two halves.
  const bool high = code >= 0xd800 && code < 0xdc00;
  if (high && digits == 4 && text.substr(at + 1, 2) == "\\u" && at + 7 < text.size()) {
    const int64_t low = hex_number(text.substr(at + 3, 4));
    if (low >= 0xdc00 && low < 0xe000) {
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      at += 6;
    }
  }
  append_utf8(out, uint32_t(code));
}

}  // namespace

std::string unquote(std::string_view text) {
  std::string out;
  const char quote = text[0];
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\'' && c == '\'') {
      ++i;  // '' is one quote
      out += '\'';
    } else if (quote == '"' && c == '\\' && i + 2 < text.size()) {
      const char e = text[++i];
      if (e == 'n')
        out += '\n';
      else if (e == 't')
        out += '\t';
      else if (e == 'r')
        out += '\r';
      else if (e == '\n')
        while (i + 2 < text.size() && text[i + 1] == ' ') ++i;
      else if (const size_t digits = e == 'x'   ? 2
                                     : e == 'u' ? 4
                                     : e == 'U' ? 8
                                                : 0;
               digits > 0 && i + digits + 1 < text.size())
        append_escaped(text, i, digits, out);
      else
        out += e;
    } else if (c == '\n') {  // a quoted scalar over several lines is folded
      while (!out.empty() && out.back() == ' ') out.pop_back();
      out += ' ';
      while (i + 2 < text.size() && text[i + 1] == ' ') ++i;
    } else {
      out += c;
    }
  }
  return out;
}

bool FlowText::is_complete(std::string_view text) {
  int open = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool may_quote = i == 0 || contains("[{,: \n", text.substr(i - 1, 1));
    if ((c == '"' || c == '\'') && may_quote) {
      i = quote_end(text, i);
      if (i == kNone) return false;
    } else if (c == '[' || c == '{') {
      ++open;
    } else if (c == ']' || c == '}') {
      --open;
    } else if (c == '#' && i > 0 && (text[i - 1] == ' ' || text[i - 1] == '\n')) {
      i = std::min(text.find('\n', i), text.size());
    }
  }
  return open <= 0;
}

void FlowText::skip_blank() {
  while (at < text.size()) {
    const char c = text[at];
    if (c == '#' && (at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n')) {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == ' ' || c == '\n' || c == '\t') {
      ++at;
    } else {
      return;
    }
  }
}

json::Value FlowText::scalar(bool is_key) {
  const char c = current();
  if (c == '"' || c == '\'') {
    const size_t end = quote_end(text, at);
    if (end != kNone) {
      std::string inner = unquote(std::string_view(text).substr(at, end - at + 1));
      at = end + 1;
      return inner;
    }
  }
  const size_t start = at;
  while (at < text.size()) {
    const char d = text[at];
    if (d == ',' || d == ']' || d == '}' || d == '[' || d == '{') break;
    if (d == ':' && (at + 1 >= text.size() || contains(" \n,]}", text.substr(at + 1, 1)))) break;
    ++at;
  }
  std::string plain(without_comment(std::string_view(text).substr(start, at - start)));
  if (is_key) return plain;
  return yaml_scalar(plain);
}

}  // namespace yaml

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
