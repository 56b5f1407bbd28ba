#include "formats/json_scanner.h"

#include "base/text.h"

namespace vramwise::formats {
namespace {

constexpr int kDeepest = 32;

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

void append_utf8(std::string& text, uint32_t code) {
  if (code < 0x80) {
    text += char(code);
  } else if (code < 0x800) {
    text += char(0xC0U | (code >> 6U));
    text += char(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    text += char(0xE0U | (code >> 12U));
    text += char(0x80U | ((code >> 6U) & 0x3FU));
    text += char(0x80U | (code & 0x3FU));
  } else {
    text += char(0xF0U | (code >> 18U));
    text += char(0x80U | ((code >> 12U) & 0x3FU));
    text += char(0x80U | ((code >> 6U) & 0x3FU));
    text += char(0x80U | (code & 0x3FU));
  }
}

}  // namespace

Failure JsonScanner::broken(std::string message, int64_t offset) const {
  return fail(Error(ErrorCode::invalid_input, std::move(message))
                  .at(Where{cursor_.name(), "", 0, 0, offset < 0 ? cursor_.position() : offset}));
}

Result<char> JsonScanner::peek() {
  while (true) {
    const std::string_view window = cursor_.window();
    size_t i = 0;
    while (i < window.size() && is_blank(window[i])) ++i;
    cursor_.advance(int64_t(i));
    if (i < window.size()) return window[i];
    if (cursor_.remaining() == 0) return '\0';
    TRY(cursor_.need(1));
  }
}

Result<char> JsonScanner::take() {
  if (cursor_.remaining() == 0) return broken("not valid JSON: it ends early");
  TRY(cursor_.need(1));
  const char c = cursor_.window()[0];
  cursor_.advance(1);
  return c;
}

Result<void> JsonScanner::expect(char c) {
  TRY_ASSIGN(const char next, peek());
  if (next != c || cursor_.remaining() == 0) {
    return broken(std::string("not valid JSON: expected '") + c + "'" +
                  (cursor_.remaining() == 0 ? ", it ends early" : ""));
  }
  cursor_.advance(1);
  return {};
}

Result<void> JsonScanner::append_escape(std::string& text) {
  TRY_ASSIGN(const char c, take());
  const auto hex4 = [&]() -> Result<uint32_t> {
    uint32_t code = 0;
    for (int i = 0; i < 4; ++i) {
      TRY_ASSIGN(const char digit, take());
      const int value = digit >= '0' && digit <= '9'   ? digit - '0'
                        : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                        : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                                       : -1;
      if (value < 0) return broken("not valid JSON: bad \\u escape");
      code = code * 16 + uint32_t(value);
    }
    return code;
  };
  switch (c) {
    case '"':
    case '\\':
    case '/': text += c; return {};
    case 'b': text += '\b'; return {};
    case 'f': text += '\f'; return {};
    case 'n': text += '\n'; return {};
    case 'r': text += '\r'; return {};
    case 't': text += '\t'; return {};
    case 'u': break;
    default: return broken("not valid JSON: unknown escape");
  }
  TRY_ASSIGN(uint32_t code, hex4());
  constexpr uint32_t kReplacement = 0xFFFD;
  if (code >= 0xD800 && code < 0xDC00) {
    TRY(cursor_.remaining() >= 6 ? cursor_.need(6) : Result<void>());
    uint32_t low = 0;
    if (cursor_.window().substr(0, 2) == "\\u") {
      cursor_.advance(2);
      TRY_ASSIGN(low, hex4());
    }
    code = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00)
                                         : kReplacement;
  } else if (code >= 0xDC00 && code < 0xE000) {
    code = kReplacement;
  }
  append_utf8(text, code);
  return {};
}

Result<std::string> JsonScanner::string(int64_t limit) {
  TRY(expect('"'));
  const int64_t start = cursor_.position();
  std::string text;
  while (true) {
    const std::string_view window = cursor_.window();
    size_t i = 0;
    while (i < window.size() && window[i] != '"' && window[i] != '\\' &&
           static_cast<unsigned char>(window[i]) >= 0x20) {
      ++i;
    }
    if (int64_t(text.size() + i) > limit) {
      return broken("a text of more than " + format_grouped(limit) + " bytes", start);
    }
    text.append(window.substr(0, i));
    cursor_.advance(int64_t(i));
    if (i == window.size()) {
      if (cursor_.remaining() == 0) return broken("not valid JSON: a text does not end", start);
      TRY(cursor_.need(1));
      continue;
    }
    const char c = window[i];
    cursor_.advance(1);
    if (c == '"') return text;
    if (c != '\\') return broken("not valid JSON: a control character inside a text");
    TRY(append_escape(text));
  }
}

Result<int64_t> JsonScanner::integer() {
  TRY_ASSIGN(char c, peek());
  const int64_t start = cursor_.position();
  if (c < '0' || c > '9') return broken("expected a whole number");
  int64_t value = 0;
  int digits = 0;
  while (c >= '0' && c <= '9') {
    // Eighteen digits fit into 63 bits and are more than any size has.
    if (++digits > 18) return broken("a number of more than 18 digits", start);
    value = value * 10 + (c - '0');
    cursor_.advance(1);
    if (cursor_.remaining() == 0) break;
    TRY(cursor_.need(1));
    c = cursor_.window()[0];
  }
  if (c == '.' || c == 'e' || c == 'E') return broken("expected a whole number", start);
  return value;
}

Result<void> JsonScanner::skip_value(int depth) {
  if (depth > kDeepest) return broken("nested deeper than " + format_integer(kDeepest));
  TRY_ASSIGN(const char c, peek());
  if (c == '{') {
    return object(Cursor::kSmallest, [&](const std::string&) { return skip_value(depth + 1); });
  }
  if (c == '[') {
    return array([&](int64_t) { return skip_value(depth + 1); });
  }
  if (c == '"') {
    TRY(string(int64_t{16} << 20));
    return {};
  }
  const int64_t start = cursor_.position();
  std::string word;
  while (cursor_.remaining() > 0) {
    TRY(cursor_.need(1));
    const char next = cursor_.window()[0];
    const bool part = (next >= '0' && next <= '9') || (next >= 'a' && next <= 'z') || next == '-' ||
                      next == '+' || next == '.' || next == 'E';
    if (!part) break;
    if (word.size() >= 64)
      return broken("not valid JSON: a word of more than 64 characters", start);
    word += next;
    cursor_.advance(1);
  }
  if (word == "true" || word == "false" || word == "null" || parse_number(word)) return {};
  return broken("not valid JSON: expected a value", start);
}

Result<void> JsonScanner::finish() {
  TRY_ASSIGN(const char c, peek());
  if (c != '\0' || cursor_.remaining() > 0) {
    return broken("not valid JSON: something follows its end");
  }
  return {};
}

}  // namespace vramwise::formats
