// Words of a shell line: quotes and what variables put in.
#include "base/text.h"
#include "engines/launch/shell_lexer.h"

namespace vramwise::engines::launch::shell {

size_t Lexer::matching(size_t from, char open, char close) const {
  int depth = 0;
  char quote = '\0';
  for (size_t i = from; i < text_.size(); ++i) {
    const char c = text_[i];
    if (quote != '\0') {
      if (c == '\\' && quote == '"')
        ++i;
      else if (c == quote)
        quote = '\0';
    } else if (c == '\\') {
      ++i;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == open) {
      ++depth;
    } else if (c == close && --depth == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

void Lexer::hole(std::string_view written, Word& word, bool& any) {
  any = true;
  word.hole = true;
  if (word.text.size() + written.size() < kMaxWordBytes) word.text += written;
  if (contains(written, "nvidia-smi") || contains(written, "CUDA_DEVICE_COUNT")) {
    word.all_gpus = true;
  }
}

void Lexer::insert(const std::vector<Word>& value, bool as_array, std::vector<Word>& out,
                   Word& word, bool& any, bool in_quotes) {
  for (size_t i = 0; i < value.size(); ++i) {
    const Word& v = value[i];
    // A variable of variables can grow without end.
    if (v.text.size() + 1 > budget_) return hole("$(...)", word, any);
    budget_ -= v.text.size() + 1;
    if (i > 0) {
      if (!as_array) return;  // $NAME of an array is its first element
      if (any && words_ < kMaxWords) {
        out.push_back(std::move(word));
        ++words_;
      }
      word = Word();
      any = false;
    }
    word.hole = word.hole || v.hole;
    word.all_gpus = word.all_gpus || v.all_gpus;
    if (in_quotes || as_array) {
      any = true;
      word.quoted = true;
      if (word.text.size() + v.text.size() < kMaxWordBytes) word.text += v.text;
      word.lost_quotes = word.lost_quotes || v.lost_quotes;
      continue;
    }
    for (const char c : v.text) {
      if (is_blank(c) || c == '\n') {
        if (any && words_ < kMaxWords) {
          out.push_back(std::move(word));
          ++words_;
        }
        if (any) word = Word();
        any = false;
        word.hole = v.hole;
      } else {
        any = true;
        if (word.text.size() < kMaxWordBytes) word.text += c;
      }
    }
  }
}

void Lexer::expand_braces(std::string_view body, std::string_view written, std::vector<Word>& out,
                          Word& word, bool& any, bool in_quotes, int depth) {
  size_t n = 0;
  while (n < body.size() && is_name(body[n])) ++n;
  const std::string name(body.substr(0, n));
  std::string_view rest = body.substr(n);
  bool as_array = false;
  if (starts_with(rest, "[@]") || starts_with(rest, "[*]")) {
    as_array = true;
    rest.remove_prefix(3);
  }
  const auto known = variables_.find(name);
  const bool is_set = !name.empty() && known != variables_.end();
  if (rest.empty()) {
    if (is_set) return insert(known->second, as_array, out, word, any, in_quotes);
    if (name == "@" || body == "@" || body == "*") return;
    return hole(written, word, any);
  }
  std::string_view op = rest.substr(0, 1);
  if (op == ":" && rest.size() > 1) op = rest.substr(0, 2);
  const bool is_default = op == ":-" || op == "-" || op == ":=" || op == "=";
  if (!is_default || name.empty()) return hole(written, word, any);
  if (is_set && !(op[0] == ':' && known->second.size() == 1 && known->second[0].text.empty())) {
    return insert(known->second, as_array, out, word, any, in_quotes);
  }
  bool has_hole = false;
  Word fallback(expand_text(rest.substr(op.size()), has_hole, depth + 1));
  fallback.hole = has_hole;
  insert({fallback}, false, out, word, any, in_quotes);
  if (in_quotes) any = true;
}

void Lexer::expand(std::vector<Word>& out, Word& word, bool& any, bool in_quotes, int depth) {
  const size_t start = pos_;
  const auto written = [&] { return text_.substr(start, pos_ - start); };
  const char next = at(1);
  if (next == '(') {
    const size_t end = matching(pos_ + 1, '(', ')');
    pos_ = end == std::string_view::npos ? text_.size() : end + 1;
    return hole(written(), word, any);
  }
  if (next == '{') {
    const size_t end = matching(pos_ + 1, '{', '}');
    if (end == std::string_view::npos || depth > kMaxDepth) {
      pos_ = end == std::string_view::npos ? text_.size() : end + 1;
      return hole(written(), word, any);
    }
    const std::string_view body = text_.substr(pos_ + 2, end - pos_ - 2);
    pos_ = end + 1;
    return expand_braces(body, written(), out, word, any, in_quotes, depth);
  }
  if (next == '@' || next == '*') {
    pos_ += 2;
    return;
  }
  if (is_digit(next) || next == '?' || next == '!' || next == '#' || next == '$') {
    pos_ += 2;
    return hole(written(), word, any);
  }
  if (!is_name_start(next)) {
    ++pos_;
    any = true;
    word.text += '$';
    return;
  }
  ++pos_;
  while (is_name(at())) ++pos_;
  if (dialect_ == Dialect::powershell && at() == ':' && is_name_start(at(1))) {  // $env:NAME
    ++pos_;
    while (is_name(at())) ++pos_;
  }
  std::string name(written().substr(1));
  if (const size_t colon = name.find(':'); colon != std::string::npos) name.erase(0, colon + 1);
  const auto known = variables_.find(name);
  if (known == variables_.end()) return hole(written(), word, any);
  insert(known->second, dialect_ == Dialect::powershell, out, word, any, in_quotes);
  if (in_quotes) any = true;
}

std::string Lexer::expand_text(std::string_view text, bool& has_hole, int depth) {
  if (depth > kMaxDepth) {
    has_hole = true;
    return std::string(text);
  }
  // The same machine over another text; the variables are lent to it.
  const std::string_view outer = text_;
  const size_t outer_pos = pos_;
  text_ = text;
  pos_ = 0;
  std::vector<Word> out;
  Word word;
  bool any = false;
  while (!done() && word.text.size() < kMaxWordBytes) {
    if (at() == '\\' && (at(1) == '$' || at(1) == '\\' || at(1) == '`')) {
      word.text += at(1);
      pos_ += 2;
    } else if (at() == '$') {
      expand(out, word, any, true, depth);
    } else {
      word.text += text_[pos_++];
    }
  }
  text_ = outer;
  pos_ = outer_pos;
  has_hole = has_hole || word.hole;
  std::string result;
  for (const Word& w : out) result += w.text + " ";
  return result + word.text;
}

void Lexer::read_ansi_c(Word& word) {
  pos_ += 2;  // $'
  while (!done() && at() != '\'') {
    if (at() == '\\' && pos_ + 1 < text_.size()) {
      const char c = at(1);
      pos_ += 2;
      word.text += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
    } else {
      word.text += text_[pos_++];
    }
  }
  if (!done()) ++pos_;
}

void Lexer::read_double(std::vector<Word>& out, Word& word, bool& any) {
  ++pos_;
  word.quoted = true;
  any = true;
  const size_t before = out.size();
  bool only_arguments = sees("$@\"") || sees("${@}\"");
  while (!done() && at() != '"') {
    const char c = at();
    if (dialect_ != Dialect::cmd && is_escape(c) && pos_ + 1 < text_.size()) {
      const char e = at(1);
      if (e == '\n') {
        pos_ += 2;
      } else if (dialect_ == Dialect::powershell || e == '"' || e == '\\' || e == '$' || e == '`') {
        word.text += e;
        pos_ += 2;
      } else {
        word.text += c;
        ++pos_;
      }
    } else if (c == '$' && dialect_ != Dialect::cmd) {
      expand(out, word, any, true, 0);
    } else if (c == '`' && dialect_ == Dialect::posix) {
      const size_t start = pos_;
      const size_t end = text_.find('`', pos_ + 1);
      pos_ = end == std::string_view::npos ? text_.size() : end + 1;
      hole(text_.substr(start, pos_ - start), word, any);
    } else {
      if (word.text.size() < kMaxWordBytes) word.text += c;
      ++pos_;
    }
  }
  if (!done()) ++pos_;
  if (only_arguments && word.text.empty() && out.size() == before) any = false;
}

void Lexer::read_word(std::vector<Word>& out) {
  Word word;
  bool any = false;
  int double_quotes = 0;
  bool starts_bare = true;
  while (!done()) {
    const char c = at();
    if (is_blank(c) || c == '\n') break;
    if (skip_continuation()) break;
    if (c == '\'' && dialect_ != Dialect::cmd && !no_more_single_) {
      const size_t end = text_.find('\'', pos_ + 1);
      no_more_single_ = end == std::string_view::npos;
      if (!no_more_single_) {
        if (!any) starts_bare = false;
        word.text += text_.substr(pos_ + 1, end - pos_ - 1);
        word.quoted = any = true;
        pos_ = end + 1;
        continue;
      }
    }
    if (c == '"' && !no_more_double_) {
      no_more_double_ = text_.find('"', pos_ + 1) == std::string_view::npos;
      if (!no_more_double_) {
        if (!any) starts_bare = false;
        ++double_quotes;
        read_double(out, word, any);
        continue;
      }
    }
    if (c == '$' && at(1) == '\'' && dialect_ == Dialect::posix) {
      read_ansi_c(word);
      word.quoted = any = true;
      continue;
    }
    if (c == '$' && dialect_ != Dialect::cmd) {
      expand(out, word, any, false, 0);
      continue;
    }
    if (c == '`' && dialect_ == Dialect::posix) {
      const size_t start = pos_;
      const size_t end = text_.find('`', pos_ + 1);
      pos_ = end == std::string_view::npos ? text_.size() : end + 1;
      hole(text_.substr(start, pos_ - start), word, any);
      continue;
    }
    if (c == '%' && dialect_ == Dialect::cmd && is_name_start(at(1))) {  // %NAME%
      size_t end = pos_ + 1;
      while (end < text_.size() && is_name(text_[end])) ++end;
      if (end < text_.size() && text_[end] == '%') {
        const auto known = variables_.find(std::string(text_.substr(pos_ + 1, end - pos_ - 1)));
        const std::string_view written = text_.substr(pos_, end - pos_ + 1);
        pos_ = end + 1;
        if (known != variables_.end()) {
          insert(known->second, false, out, word, any, false);
        } else {
          hole("$" + std::string(written.substr(1, written.size() - 2)), word, any);
        }
        continue;
      }
    }
    if (is_escape(c) && pos_ + 1 < text_.size()) {
      if (word.text.size() < kMaxWordBytes) word.text += at(1);
      any = true;
      pos_ += 2;
      continue;
    }
    // A placeholder of documentation: <your-model>.
    if (c == '<' && is_name_start(at(1)) && !any) {
      size_t end = pos_ + 1;
      while (end < text_.size() && (is_name(text_[end]) || text_[end] == '-' || text_[end] == '/'))
        ++end;
      if (end < text_.size() && text_[end] == '>') {
        hole(text_.substr(pos_, end + 1 - pos_), word, any);
        pos_ = end + 1;
        continue;
      }
    }
    if (c == ';' || c == '|' || c == '&' || c == '<' || c == '>') break;
    if ((c == '(' || c == ')') && dialect_ == Dialect::posix) break;
    if (word.text.size() < kMaxWordBytes) word.text += c;
    any = true;
    ++pos_;
  }
  if (!any) return;
  // {"a":1} typed bare or inside of double quotes arrives as {a:1}.
  word.lost_quotes =
      word.lost_quotes || (double_quotes > 0 && (starts_bare || double_quotes > 1) &&
                           !word.text.empty() && (word.text[0] == '{' || word.text[0] == '[') &&
                           !contains(word.text, "\"") && contains(word.text, ":"));
  if (words_ < kMaxWords) {
    out.push_back(std::move(word));
    ++words_;
  }
}

}  // namespace vramwise::engines::launch::shell
