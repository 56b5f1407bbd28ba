#include "engines/launch/literal.h"

#include "base/text.h"

namespace vramwise::engines::launch {
namespace {

constexpr int kMaxDepth = 64;
constexpr int kMaxValues = 20'000;  // setting a member searches the object

bool is_name_start(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

uint32_t hex_digit(char c) {
  if (is_digit(c)) return uint32_t(c - '0');
  const char lower = char(c | 32);
  return lower >= 'a' && lower <= 'f' ? uint32_t(lower - 'a' + 10) : 0;
}

class LiteralReader {
 public:
  LiteralReader(std::string_view text, const LiteralRules& rules) : text_(text), rules_(rules) {}

  size_t pos() const { return pos_; }
  void skip_blanks() {
    while (pos_ < text_.size()) {
      const char c = text_[pos_];
      if (rules_.python && c == '#') {
        pos_ = std::min(text_.find('\n', pos_), text_.size());
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || (rules_.python && c == '\\')) {
        ++pos_;
      } else {
        return;
      }
    }
  }
  char at() const { return pos_ < text_.size() ? text_[pos_] : '\0'; }

  bool value(Literal& out, int depth) {
    if (depth > kMaxDepth || ++values_ > kMaxValues) return false;
    skip_blanks();
    const char c = at();
    if (c == '{') return object(out, depth);
    if (c == '[' || (c == '(' && rules_.python)) return list(out, depth);
    if (c == '"' || c == '\'') return string(out);
    if (rules_.python && is_name_start(c)) return name(out, depth);
    return scalar(out);
  }

  bool arguments(std::vector<Argument>& out, int depth) {
    for (skip_blanks(); at() != ')'; skip_blanks()) {
      if (pos_ >= text_.size()) return false;
      Argument argument;
      const size_t start = pos_;
      if (is_name_start(at())) {
        size_t end = pos_;
        while (end < text_.size() && (is_name_start(text_[end]) || is_digit(text_[end]))) ++end;
        size_t equals = end;
        while (equals < text_.size() && (text_[equals] == ' ' || text_[equals] == '\n')) ++equals;
        if (equals + 1 < text_.size() && text_[equals] == '=' && text_[equals + 1] != '=') {
          argument.name = std::string(text_.substr(pos_, end - pos_));
          pos_ = equals + 1;
        }
      }
      if (at() == '*') {  // *args, **kwargs: not in the text
        while (at() == '*') ++pos_;
        argument.name = "*";
      }
      Literal inner;
      if (!value(inner, depth + 1)) return false;
      argument.value = std::move(inner.value);
      argument.hole = inner.has_hole;
      skip_blanks();
      if (at() != ',' && at() != ')') {  // an expression: 2 * n, a if b else c
        argument.hole = true;
        argument.value = json::Value();
        if (!skip_expression()) return false;
      }
      out.push_back(std::move(argument));
      skip_blanks();
      if (at() == ',') ++pos_;
      if (pos_ == start) return false;
    }
    ++pos_;
    return true;
  }

 private:
  // To the comma or bracket that ends an expression.
  bool skip_expression() {
    int open = 0;
    while (pos_ < text_.size()) {
      const char c = text_[pos_];
      if (c == '"' || c == '\'') {
        Literal ignored;
        if (!string(ignored)) return false;
        continue;
      }
      if (open == 0 && (c == ',' || c == ')' || c == ']' || c == '}')) return true;
      if (c == '(' || c == '[' || c == '{') ++open;
      if (c == ')' || c == ']' || c == '}') --open;
      ++pos_;
    }
    return false;
  }

  bool string(Literal& out) {
    std::string result;
    if (!one_string(result)) return false;
    // "a" "b" is one string in Python.
    while (rules_.python) {
      const size_t end = pos_;
      skip_blanks();
      if (at() != '"' && at() != '\'') {
        pos_ = end;
        break;
      }
      if (!one_string(result)) return false;
    }
    out.value = std::move(result);
    return true;
  }

  bool one_string(std::string& result) {
    const char quote = at();
    const std::string_view thrice = quote == '"' ? "\"\"\"" : "'''";
    const bool triple = rules_.python && text_.substr(pos_, 3) == thrice;
    pos_ += triple ? 3 : 1;
    while (pos_ < text_.size()) {
      const char c = text_[pos_];
      if (c == quote && (!triple || text_.substr(pos_, 3) == thrice)) {
        pos_ += triple ? 3 : 1;
        return true;
      }
      ++pos_;
      if (c == '\\' && pos_ < text_.size()) {
        escape(text_[pos_++], quote, result);
      } else {
        result += c;
      }
    }
    return false;
  }

  void escape(char e, char quote, std::string& result) {
    if (e == 'n') {
      result += '\n';
    } else if (e == 't') {
      result += '\t';
    } else if (e == 'r') {
      result += '\r';
    } else if (e == 'u' && pos_ + 4 <= text_.size()) {
      uint32_t code = 0;
      for (int i = 0; i < 4; ++i) code = code * 16 + hex_digit(text_[pos_ + size_t(i)]);
      pos_ += 4;
      append_utf8(result, code);
    } else if (e != '\n') {  // an escaped line end is nothing
      if (rules_.python && e != quote && e != '\\') result += '\\';
      result += e;
    }
  }

  bool object(Literal& out, int depth) {
    ++pos_;
    out.value = json::Value::object();
    for (skip_blanks(); at() != '}'; skip_blanks()) {
      if (pos_ >= text_.size()) return false;
      std::string key;
      if (at() == '"' || at() == '\'') {
        Literal k;
        if (!string(k)) return false;
        key = k.value.as_string();
      } else if (rules_.bare || rules_.python) {
        const size_t start = pos_;
        while (pos_ < text_.size() && text_[pos_] != ':' && text_[pos_] != '}' &&
               text_[pos_] != ',')
          ++pos_;
        key = std::string(trim(text_.substr(start, pos_ - start)));
        if (key.empty()) return false;
      } else {
        return false;
      }
      skip_blanks();
      if (at() != ':') return false;
      ++pos_;
      Literal member;
      if (!value(member, depth + 1)) return false;
      skip_blanks();
      if (rules_.python && at() != ',' && at() != '}') {
        member.has_hole = true;
        member.value = json::Value();
        if (!skip_expression()) return false;
      }
      out.has_hole = out.has_hole || member.has_hole;
      out.value.set(key, std::move(member.value));
      skip_blanks();
      if (at() == ',')
        ++pos_;
      else if (at() != '}')
        return false;
    }
    ++pos_;
    return true;
  }

  bool list(Literal& out, int depth) {
    const char close = at() == '[' ? ']' : ')';
    ++pos_;
    out.value = json::Value::array();
    for (skip_blanks(); at() != close; skip_blanks()) {
      if (pos_ >= text_.size()) return false;
      const size_t start = pos_;
      Literal item;
      if (!value(item, depth + 1)) return false;
      skip_blanks();
      if (rules_.python && at() != ',' && at() != close) {
        item.has_hole = true;
        item.value = json::Value();
        if (!skip_expression()) return false;
      }
      out.has_hole = out.has_hole || item.has_hole;
      out.value.push(std::move(item.value));
      if (at() == ',')
        ++pos_;
      else if (at() != close)
        return false;
      if (pos_ == start) return false;
    }
    ++pos_;
    return true;
  }

  // True, None, os.environ["X"], KvCacheConfig(free_gpu_memory_fraction=0.8), r"raw".
  bool name(Literal& out, int depth) {
    const size_t start = pos_;
    while (pos_ < text_.size() &&
           (is_name_start(text_[pos_]) || is_digit(text_[pos_]) || text_[pos_] == '.'))
      ++pos_;
    const std::string_view word = text_.substr(start, pos_ - start);
    if ((at() == '"' || at() == '\'') && word.size() <= 2) {  // r"", f"", b""
      if (!string(out)) return false;
      out.has_hole = contains(word, "f") && contains(out.value.as_string(), "{");
      return true;
    }
    if (word == "True" || word == "true")
      out.value = true;
    else if (word == "False" || word == "false")
      out.value = false;
    else if (word == "None" || word == "null")
      out.value = json::Value();
    else if (at() == '(') {
      ++pos_;
      std::vector<Argument> inner;
      if (!arguments(inner, depth + 1)) return false;
      out.value = json::Value::object();
      for (Argument& a : inner) {
        const bool unnamed = a.name.empty() || a.name == "*";
        out.has_hole = out.has_hole || a.hole || unnamed;
        // What is known of a value with a hole in it still counts.
        if (!unnamed && !(a.hole && a.value.is_null())) out.value.set(a.name, std::move(a.value));
      }
      // A function that is not an object with options has a result that nobody knows here.
      const bool is_type =
          word[word.rfind('.') == std::string_view::npos ? 0 : word.rfind('.') + 1] >= 'A' &&
          word[word.rfind('.') == std::string_view::npos ? 0 : word.rfind('.') + 1] <= 'Z';
      if (!is_type && word != "dict") {
        out.value = json::Value();
        out.has_hole = true;
      }
    } else {
      out.has_hole = true;  // a variable
    }
    return true;
  }

  bool scalar(Literal& out) {
    const size_t start = pos_;
    int open = 0;
    while (pos_ < text_.size()) {
      const char c = text_[pos_];
      if (open == 0 && (c == ',' || c == '}' || c == ']' || c == ')' || c == ' ' || c == '\n')) {
        // A bare word may hold blanks; it ends at a comma or bracket.
        if (c != ' ' || !rules_.bare) break;
      }
      ++pos_;
    }
    std::string_view word = trim(text_.substr(start, pos_ - start));
    if (word.empty()) return false;
    if (word == "true" || word == "True")
      out.value = true;
    else if (word == "false" || word == "False")
      out.value = false;
    else if (word == "null" || word == "None")
      out.value = json::Value();
    else {
      std::string plain(word);
      if (rules_.python) plain = replace_all(plain, "_", "");
      const bool numeric = is_digit(word[0]) || word[0] == '-' || word[0] == '+' || word[0] == '.';
      if (const auto n = parse_integer(plain); n && numeric)
        out.value = *n;
      else if (const auto d = parse_number(plain); d && numeric)
        out.value = *d;
      else if (const auto s = vllm_size(word); s && rules_.suffixes)
        out.value = *s;
      else if (rules_.bare)
        out.value = std::string(word);
      else if (rules_.python)
        out.has_hole = true;
      else
        return false;
    }
    return true;
  }

  std::string_view text_;
  LiteralRules rules_;
  size_t pos_ = 0;
  int values_ = 0;
};

}  // namespace

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += char(code);
  } else if (code < 0x800) {
    out += char(0xC0 | (code >> 6));
    out += char(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += char(0xE0 | (code >> 12));
    out += char(0x80 | ((code >> 6) & 0x3F));
    out += char(0x80 | (code & 0x3F));
  } else {
    out += char(0xF0 | (code >> 18));
    out += char(0x80 | ((code >> 12) & 0x3F));
    out += char(0x80 | ((code >> 6) & 0x3F));
    out += char(0x80 | (code & 0x3F));
  }
}

std::optional<Literal> read_literal(std::string_view text, const LiteralRules& rules) {
  LiteralReader reader(text, rules);
  Literal out;
  if (!reader.value(out, 0)) return std::nullopt;
  out.end = reader.pos();
  return out;
}

std::optional<Literal> read_whole_literal(std::string_view text, const LiteralRules& rules) {
  auto out = read_literal(text, rules);
  if (!out || !trim(text.substr(out->end)).empty()) return std::nullopt;
  return out;
}

std::optional<Call> read_call(std::string_view text) {
  LiteralReader reader(text, {.python = true});
  Call call;
  if (!reader.arguments(call.arguments, 0)) return std::nullopt;
  call.end = reader.pos();
  return call;
}

}  // namespace vramwise::engines::launch
