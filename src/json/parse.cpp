#include "json/parse.h"

#include <algorithm>

#include "base/text.h"
#include "json/utf8.h"

namespace vramwise::json {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A character of a text that stands for itself in one byte.
bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= ' ' && byte < 0x80 && c != '"' && c != '\\';
}

// RFC 8259, read by recursion as deep as ParseLimits allows. A function that answers false has left
// the error behind.
class Parser {
 public:
  Parser(std::string_view text, ParseLimits limits) : text_(text), limits_(limits) {
    constexpr std::string_view kMark = "\xef\xbb\xbf";  // some editors begin a file with it
    if (starts_with(text, kMark)) at_ = kMark.size();
  }

  bool document(Value& out) {
    if (!value(out, 0)) return false;
    return next() == '\0' && at_ == text_.size() ? true : expected("the end");
  }

  Error take_error() { return std::move(error_); }
  int64_t error_offset() const { return int64_t(std::min(at_, text_.size())); }

 private:
  bool stop(ErrorCode code, std::string message) {
    error_ = Error(code, std::move(message));
    return false;
  }

  bool broken(std::string_view what) {
    return stop(ErrorCode::invalid_input, "not valid JSON: " + std::string(what));
  }

  bool expected(std::string_view what) {
    std::string text = "expected " + std::string(what);
    if (at_ >= text_.size()) {
      text += ", but the text ends";
    } else if (const size_t length = utf8_length(text_, at_);
               length > 0 && static_cast<unsigned char>(here()) >= ' ') {
      text += ", found " + std::string(text_.substr(at_, length));
    }
    return broken(text);
  }

  // The character at hand, '\0' at the end.
  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  char next() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
      ++at_;
    }
    return here();
  }

  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }

  bool word(std::string_view name) {
    if (!starts_with(text_.substr(at_), name)) return false;
    at_ += name.size();
    return true;
  }

  bool value(Value& out, int depth) {
    const char c = next();
    if (c == '{' || c == '[') {
      ++at_;
      if (depth >= limits_.depth) {
        return stop(ErrorCode::too_large, "nested deeper than " + format_integer(limits_.depth));
      }
      if (!(c == '{' ? object(out, depth) : array(out, depth))) return false;
    } else if (c == '"') {
      std::string text;
      if (!string(text)) return false;
      out = std::move(text);
    } else if (c == '-' || is_digit(c)) {
      if (!number(out)) return false;
    } else if (word("true")) {
      out = true;
    } else if (word("false")) {
      out = false;
    } else if (word("Infinity")) {
      out = kHuge;
    } else if (!word("null")) {
      return expected("a value");
    }
    if (++values_ > limits_.values) {
      return stop(ErrorCode::too_large, "more than " + format_grouped(limits_.values) + " values");
    }
    out.set_end_offset(int64_t(at_));
    return true;
  }

  bool object(Value& out, int depth) {
    Object members;
    if (!take('}')) {
      do {
        if (next() != '"') return expected("a key in quotes");
        Member& member = members.emplace_back();
        if (!string(member.key)) return false;
        if (!take(':')) return expected("':' after the key");
        if (!value(member.value, depth + 1)) return false;
      } while (take(','));
      if (!take('}')) return expected("',' or '}'");
    }
    out = std::move(members);
    return true;
  }

  bool array(Value& out, int depth) {
    Array items;
    if (!take(']')) {
      do {
        if (!value(items.emplace_back(), depth + 1)) return false;
      } while (take(','));
      if (!take(']')) return expected("',' or ']'");
    }
    out = std::move(items);
    return true;
  }

  bool digits() {
    if (!is_digit(here())) return expected("a digit");
    while (is_digit(here())) ++at_;
    return true;
  }

  bool number(Value& out) {
    const size_t start = at_;
    if (here() == '-') {
      ++at_;
      if (word("Infinity")) {
        out = -kHuge;
        return true;
      }
    }
    bool whole = true;
    if (here() == '0') {
      ++at_;
    } else if (!digits()) {
      return false;
    }
    if (here() == '.') {
      whole = false;
      ++at_;
      if (!digits()) return false;
    }
    if (here() == 'e' || here() == 'E') {
      whole = false;
      ++at_;
      if (here() == '+' || here() == '-') ++at_;
      if (!digits()) return false;
    }
    const std::string_view text = text_.substr(start, at_ - start);
    if (whole) {
      if (const auto n = parse_integer(text)) {
        out = *n;
        return true;
      }
    }
    const auto n = parse_number(text);
    if (!n) {
      return stop(ErrorCode::too_large,
                  "number '" + std::string(text.substr(0, 40)) + "' is too large");
    }
    out = *n;
    return true;
  }

  bool string(std::string& out) {
    ++at_;  // the quote
    while (true) {
      // Most of a text is plain: found in one go, copied in one go.
      size_t end = at_;
      while (end < text_.size() && is_plain(text_[end])) ++end;
      out.append(text_.substr(at_, end - at_));
      at_ = end;
      if (at_ >= text_.size()) return broken("a text has no closing quote");
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c == '\\') {
        ++at_;
        if (!escape(out)) return false;
      } else if (static_cast<unsigned char>(c) < ' ') {
        return broken("a control character inside a text; it is written with a backslash");
      } else {
        const size_t length = utf8_length(text_, at_);
        if (length == 0) return broken("a text is not UTF-8");
        out.append(text_.substr(at_, length));
        at_ += length;
      }
    }
  }

  bool escape(std::string& out) {
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    const size_t found = kNames.find(here());
    if (found != std::string_view::npos) {
      ++at_;
      out += kMeant[found];
      return true;
    }
    if (here() != 'u') return broken("an unknown character behind a backslash");
    uint32_t code = 0;
    if (!hex4(code)) return false;
    if (code >= 0xD800 && code < 0xDC00) {
      uint32_t low = 0;
      if (starts_with(text_.substr(at_), "\\u")) {
        ++at_;
        if (!hex4(low)) return false;
      }
      if (low < 0xDC00 || low >= 0xE000) return broken("a surrogate without its second half");
      code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
      return broken("the second half of a surrogate without its first");
    }
    append_utf8(out, code);
    return true;
  }

  // "u" and four digits.
  bool hex4(uint32_t& code) {
    for (int i = 0; i < 4; ++i) {
      ++at_;
      const char c = here();
      const int digit = is_digit(c)            ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return broken("'\\u' wants four hexadecimal digits");
      code = code * 16 + uint32_t(digit);
    }
    ++at_;
    return true;
  }

  // Python's json module writes infinite numbers by name, and published configs hold some
  // ("time_step_limit": [0.0, Infinity]). Whoever takes it for a count or a size still gets an
  // error.
  static constexpr double kHuge = 1.7e+308;

  std::string_view text_;
  size_t at_ = 0;
  ParseLimits limits_;
  int64_t values_ = 0;
  Error error_;
};

}  // namespace

Where locate(std::string_view text, std::string_view source, int64_t offset) {
  Where where;
  where.source = std::string(source);
  if (offset < 0) return where;
  const std::string_view before = text.substr(0, size_t(offset));
  where.offset = offset;
  where.line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t newline = before.rfind('\n');
  where.column = int64_t(before.size() - (newline == std::string_view::npos ? 0 : newline + 1)) + 1;
  return where;
}

Result<Value> parse(std::string_view text, std::string_view source, ParseLimits limits) {
  if (int64_t(text.size()) > limits.bytes) {
    return fail(Error(ErrorCode::too_large,
                      std::string(source) + " has " + format_grouped(int64_t(text.size())) +
                          " bytes, more than the " + format_grouped(limits.bytes) + " accepted")
                    .at(std::string(source)));
  }
  if (trim(text).empty()) {
    return fail(Error(ErrorCode::invalid_input, std::string(source) + " is empty")
                    .at(std::string(source))
                    .hint("give a JSON object"));
  }
  Parser parser(text, limits);
  Value value;
  if (!parser.document(value)) {
    return fail(parser.take_error().at(locate(text, source, parser.error_offset())));
  }
  return value;
}

}  // namespace vramwise::json
