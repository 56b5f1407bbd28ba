#include "engines/launch/shell.h"

#include <array>

#include "base/text.h"

namespace vramwise::engines::launch {
namespace {

constexpr size_t kMaxWords = 100'000;
constexpr size_t kMaxCommands = 2'000;
constexpr size_t kMaxWordBytes = size_t{1} << 20;
constexpr size_t kMaxExpansion = size_t{4} << 20;  // bytes that variables may put into a paste
constexpr int kMaxDepth = 8;  // ${A:-${B:-...}}

bool is_name_start(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return is_name_start(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

class Lexer {
 public:
  Lexer(std::string_view text, Dialect dialect, Variables variables, bool hash_is_prompt)
      : text_(text), dialect_(dialect), variables_(std::move(variables)),
        hash_is_prompt_(hash_is_prompt) {}

  Script run();
  std::vector<Word> words_only();
  Word one_word() {
    Word word;
    word.text = expand_text(text_, word.hole, 0);
    return word;
  }

 private:
  struct Pending {  // a here-document whose body follows the line
    std::string delimiter;
    bool expand, strip_tabs;
  };

  char at(size_t ahead = 0) const {
    return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0';
  }
  bool done() const { return pos_ >= text_.size(); }
  bool sees(std::string_view what) const { return text_.substr(pos_, what.size()) == what; }
  bool is_escape(char c) const {
    return dialect_ == Dialect::posix ? c == '\\'
           : dialect_ == Dialect::cmd ? c == '^'
                                      : c == '`';
  }

  void skip_prompt();
  void skip_line();
  bool skip_continuation();
  void skip_blanks();
  void read_command();
  bool read_redirection(Command& command);
  void read_document(Command& command);
  void read_assignment(Command& command, std::string name, bool append);
  bool read_assignments(Command& command);
  void end_command(Command command);
  void set_variable(const std::string& name, std::vector<Word> value, bool exported);
  void take_declaration(const Command& command, bool exported);
  void take_file(const Command& command);

  void read_word(std::vector<Word>& out);
  void read_double(std::vector<Word>& out, Word& word, bool& any);
  void read_ansi_c(Word& word);
  void expand(std::vector<Word>& out, Word& word, bool& any, bool in_quotes, int depth);
  void expand_braces(std::string_view body, std::string_view written, std::vector<Word>& out,
                     Word& word, bool& any, bool in_quotes, int depth);
  void insert(const std::vector<Word>& value, bool as_array, std::vector<Word>& out, Word& word,
              bool& any, bool in_quotes);
  void hole(std::string_view written, Word& word, bool& any);
  std::string expand_text(std::string_view text, bool& has_hole, int depth);
  size_t matching(size_t from, char open, char close) const;

  std::string_view text_;
  Dialect dialect_;
  Variables variables_;
  bool hash_is_prompt_;
  size_t pos_ = 0;
  size_t words_ = 0;
  size_t budget_ = kMaxExpansion;
  bool no_more_single_ = false, no_more_double_ = false;
  std::vector<Pending> pending_;
  Script script_;
};

void Lexer::skip_line() {
  const size_t end = text_.find('\n', pos_);
  pos_ = end == std::string_view::npos ? text_.size() : end;
}

// Prompts people copy along: "$ ", "> ", "user@host:~$ ", "(venv) $ ", "PS C:\> ", "[u@h dir]$ ".
void Lexer::skip_prompt() {
  while (is_blank(at())) ++pos_;
  if (sees("```") || sees("~~~")) return skip_line();
  const size_t start = pos_;
  const size_t line_end = std::min(text_.find('\n', pos_), text_.size());
  std::string_view line = text_.substr(pos_, line_end - pos_);
  const auto drop = [&](size_t n) {
    pos_ += n;
    while (is_blank(at())) ++pos_;
    line = text_.substr(pos_, line_end - pos_);
  };
  if (starts_with(line, "(")) {  // (venv), (base)
    const size_t close = line.find(')');
    if (close != std::string_view::npos && close < 40 && close + 1 < line.size() &&
        is_blank(line[close + 1]) && line.find_first_of(" \t=") > close) {
      drop(close + 1);
    }
  }
  // The sign that ends a prompt stands before a blank and behind something like user@host or a path.
  const size_t sign = line.find_first_of("$#%>");
  if (sign != std::string_view::npos && sign > 0 && sign < 80 && sign + 1 < line.size() &&
      is_blank(line[sign + 1])) {
    const std::string_view head = line.substr(0, sign);
    const bool user_at_host = contains(head, "@") && line.find_first_of(" \t") > head.find('@');
    const bool windows = starts_with(head, "PS ") || (head.size() > 2 && head[1] == ':' && head[2] == '\\');
    if (user_at_host || starts_with(head, "[") || windows) drop(sign + 1);
  }
  for (const std::string_view sign_text : {"$ ", "> ", "% ", "\xE2\x9D\xAF ", "\xE2\x9E\x9C "}) {
    if (starts_with(line, sign_text)) drop(sign_text.size());
  }
  if (hash_is_prompt_ && starts_with(line, "# ")) drop(2);
  if (pos_ > start && dialect_ == Dialect::powershell && starts_with(line, "> ")) drop(2);
}

// A line end that the shell takes for a blank.
bool Lexer::skip_continuation() {
  if (!is_escape(at())) return false;
  size_t i = pos_ + 1;
  while (i < text_.size() && is_blank(text_[i])) ++i;
  if (i >= text_.size()) {  // an escape that ends the paste: the rest was not copied
    pos_ = text_.size();
    return true;
  }
  if (text_[i] != '\n') return false;
  const size_t blanks = i - pos_ - 1;
  if (blanks > 0 && !(blanks == 1 && text_[i - 1] == '\r') && script_.warnings.empty()) {
    script_.warnings.push_back({"blank_after_backslash",
                                "a blank behind the line's last character keeps the shell from "
                                "joining it with the next line; read as joined"});
  }
  pos_ = i + 1;
  if (sees("> ")) pos_ += 2;  // the prompt of a continued line
  return true;
}

void Lexer::skip_blanks() {
  while (!done() && (is_blank(at()) || skip_continuation())) {
    if (is_blank(at())) ++pos_;
  }
}

size_t Lexer::matching(size_t from, char open, char close) const {
  int depth = 0;
  char quote = '\0';
  for (size_t i = from; i < text_.size(); ++i) {
    const char c = text_[i];
    if (quote != '\0') {
      if (c == '\\' && quote == '"') ++i;
      else if (c == quote) quote = '\0';
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

// Puts a known value where a variable stands: an array as words of its own, and outside of quotes
// every blank of the value parts words.
void Lexer::insert(const std::vector<Word>& value, bool as_array, std::vector<Word>& out,
                   Word& word, bool& any, bool in_quotes) {
  for (size_t i = 0; i < value.size(); ++i) {
    const Word& v = value[i];
    // A variable of variables can grow without end.
    if (v.text.size() + 1 > budget_) {
      word.hole = true;
      return;
    }
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

// At a '$'.
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
      while (end < text_.size() && (is_name(text_[end]) || text_[end] == '-' || text_[end] == '/')) ++end;
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
  word.lost_quotes = word.lost_quotes ||
                     (double_quotes > 0 && (starts_bare || double_quotes > 1) && !word.text.empty() &&
                      (word.text[0] == '{' || word.text[0] == '[') &&
                      !contains(word.text, "\"") && contains(word.text, ":"));
  if (words_ < kMaxWords) {
    out.push_back(std::move(word));
    ++words_;
  }
}

void Lexer::read_document(Command& command) {
  pos_ += 2;  // <<
  if (at() == '<') {  // here-string
    ++pos_;
    skip_blanks();
    std::vector<Word> words;
    read_word(words);
    command.has_document = true;
    command.document = words.empty() ? std::string() : words[0].text;
    return;
  }
  Pending pending{"", true, false};
  if (at() == '-') {
    pending.strip_tabs = true;
    ++pos_;
  }
  while (is_blank(at())) ++pos_;
  while (!done() && !is_blank(at()) && at() != '\n' && at() != ';' && at() != '|' && at() != '>' &&
         at() != '&') {
    if (at() == '\'' || at() == '"' || at() == '\\') {
      pending.expand = false;
    } else {
      pending.delimiter += at();
    }
    ++pos_;
  }
  if (!pending.delimiter.empty()) pending_.push_back(std::move(pending));
}

bool Lexer::read_redirection(Command& command) {
  size_t i = pos_;
  while (i < text_.size() && is_digit(text_[i]) && i - pos_ < 2) ++i;
  if (i < text_.size() && text_[i] == '&' && i + 1 < text_.size() && text_[i + 1] == '>' && i == pos_) {
    ++i;
  }
  if (i >= text_.size() || (text_[i] != '>' && text_[i] != '<')) return false;
  const bool writes = text_[i] == '>';
  if (!writes && is_name_start(i + 1 < text_.size() ? text_[i + 1] : '\0')) {
    const std::string_view near = text_.substr(i, 200);
    const size_t end = near.find_first_of(" \t\n>");
    if (end != std::string_view::npos && near[end] == '>') return false;  // <placeholder>
  }
  pos_ = i;
  if (sees("<<")) {
    read_document(command);
    return true;
  }
  ++pos_;
  while (at() == '>' || at() == '|' || at() == '&') {
    const bool duplicates = at() == '&';
    ++pos_;
    if (duplicates) {  // >&1, <&-
      while (is_digit(at()) || at() == '-') ++pos_;
      if (is_blank(at()) || at() == '\n' || done() || at() == '&' || at() == ';' || at() == '|') return true;
    }
  }
  skip_blanks();
  std::vector<Word> target;
  read_word(target);
  if (writes && !target.empty() && command.writes_to.empty()) command.writes_to = target[0].text;
  return true;
}

void Lexer::read_assignment(Command& command, std::string name, bool append) {
  std::vector<Word> value;
  if (append) {
    if (const auto old = variables_.find(name); old != variables_.end()) value = old->second;
  }
  const bool is_array = at() == '(' && dialect_ != Dialect::cmd;
  if (is_array) {
    ++pos_;
    while (!done() && at() != ')') {
      skip_blanks();
      if (at() == '\n') {
        ++pos_;
      } else if (at() == '#') {
        skip_line();
      } else if (!done() && at() != ')') {
        const size_t before = pos_;
        read_word(value);
        if (pos_ == before) ++pos_;
      }
    }
    if (!done()) ++pos_;
  } else {
    std::vector<Word> words;
    const size_t before = pos_;
    read_word(words);
    Word joined;
    if (append && value.size() == 1) joined = value[0];
    for (size_t i = 0; i < words.size(); ++i) {
      if (i > 0) joined.text += ' ';
      joined.text += words[i].text;
      joined.hole = joined.hole || words[i].hole;
      joined.all_gpus = joined.all_gpus || words[i].all_gpus;
      joined.lost_quotes = joined.lost_quotes || words[i].lost_quotes;
      joined.quoted = joined.quoted || words[i].quoted;
    }
    (void)before;
    value = {joined};
  }
  if (is_array) {
    set_variable(name, std::move(value), false);
  } else {
    command.assignments.emplace_back(std::move(name), value[0]);
  }
}

// NAME=value words in front of a command; true when one was read.
bool Lexer::read_assignments(Command& command) {
  size_t i = pos_;
  bool is_env = false;
  if (dialect_ == Dialect::powershell && i < text_.size() && text_[i] == '$') {
    ++i;
    for (const std::string_view scope : {"env:", "Env:", "ENV:"}) {
      if (text_.substr(i, 4) == scope) {
        i += 4;
        is_env = true;
        break;
      }
    }
    const size_t name_start = i;
    while (i < text_.size() && is_name(text_[i])) ++i;
    std::string name(text_.substr(name_start, i - name_start));
    while (i < text_.size() && is_blank(text_[i])) ++i;
    if (name.empty() || i >= text_.size() || text_[i] != '=') return false;
    pos_ = i + 1;
    skip_blanks();
    std::vector<Word> value;
    while (!done() && at() != '\n' && at() != ';') {
      const size_t before = pos_;
      read_word(value);
      skip_blanks();
      if (at() == ',' || at() == '@' || at() == '(' || at() == ')') ++pos_;
      if (pos_ == before) break;
    }
    set_variable(name, std::move(value), is_env);
    return true;
  }
  if (dialect_ == Dialect::cmd || i >= text_.size() || !is_name_start(text_[i])) return false;
  while (i < text_.size() && is_name(text_[i])) ++i;
  const bool append = i + 1 < text_.size() && text_[i] == '+' && text_[i + 1] == '=';
  if (i >= text_.size() || (text_[i] != '=' && !append)) return false;
  std::string name(text_.substr(pos_, i - pos_));
  pos_ = i + (append ? 2 : 1);
  read_assignment(command, std::move(name), append);
  return true;
}

void Lexer::set_variable(const std::string& name, std::vector<Word> value, bool exported) {
  if (variables_.size() > kMaxCommands) return;
  if (exported && script_.exported.size() < kMaxCommands) {
    script_.exported.emplace_back(name, value.empty() ? Word() : value[0]);
  }
  variables_[name] = std::move(value);
}

// export A=1 B=2, declare -x, set A=1, setx A 1.
void Lexer::take_declaration(const Command& command, bool exported) {
  const std::string program = to_lower(command.words[0].text);
  if (program == "setx" && command.words.size() >= 3) {
    set_variable(command.words[1].text, {command.words[2]}, true);
    return;
  }
  if (program == "set") {  // the rest of the line is one value
    Word all = command.words.size() > 1 ? command.words[1] : Word();
    for (size_t i = 2; i < command.words.size(); ++i) all.text += " " + command.words[i].text;
    const size_t equals = all.text.find('=');
    if (equals == std::string::npos || equals == 0) return;
    Word value = all;
    value.text = all.text.substr(equals + 1);
    set_variable(all.text.substr(0, equals), {value}, true);
    return;
  }
  for (size_t i = 1; i < command.words.size(); ++i) {
    const Word& w = command.words[i];
    const size_t equals = w.text.find('=');
    if (w.text == "-x") exported = true;
    if (starts_with(w.text, "-")) continue;
    if (equals == std::string::npos) {  // export NAME of an earlier assignment
      const auto known = variables_.find(w.text);
      if (exported && known != variables_.end() && !known->second.empty()) {
        script_.exported.emplace_back(w.text, known->second[0]);
      }
      continue;
    }
    Word value = w;
    value.text = w.text.substr(equals + 1);
    set_variable(w.text.substr(0, equals), {value}, exported);
  }
}

// cat > f <<EOF, tee f <<EOF, echo "..." > f
void Lexer::take_file(const Command& command) {
  const std::string& program = command.words[0].text;
  std::string name = command.writes_to;
  if (name.empty() && program == "tee") {
    for (size_t i = 1; i < command.words.size(); ++i) {
      if (!starts_with(command.words[i].text, "-")) name = command.words[i].text;
    }
  }
  if (name.empty() || script_.files.size() > 100) return;
  if (command.has_document) {
    script_.files[name] = command.document;
  } else if (program == "echo" || program == "printf") {
    std::string text;
    for (size_t i = 1; i < command.words.size(); ++i) {
      if (command.words[i].text == "-e" || command.words[i].text == "-n") continue;
      text += (text.empty() ? "" : " ") + command.words[i].text;
    }
    script_.files[name] += replace_all(std::move(text), "\\n", "\n") + "\n";
  }
}

void Lexer::end_command(Command command) {
  constexpr std::array<std::string_view, 12> kKeywords = {
      "if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "fi", "done"};
  size_t skip = 0;
  while (skip < command.words.size()) {
    bool keyword = false;
    for (const std::string_view k : kKeywords) keyword = keyword || command.words[skip].text == k;
    if (!keyword || command.words[skip].quoted) break;
    ++skip;
  }
  command.words.erase(command.words.begin(), command.words.begin() + ptrdiff_t(skip));
  // An assignment behind a keyword was read as a word.
  if (command.words.empty()) {
    for (auto& [name, value] : command.assignments) set_variable(name, {value}, false);
    return;
  }
  const std::string& program = command.words[0].text;
  const bool is_set = dialect_ != Dialect::posix && to_lower(program) == "set";
  if (program == "export" || program == "setx" || is_set) return take_declaration(command, true);
  if (program == "declare" || program == "typeset" || program == "local" || program == "readonly") {
    return take_declaration(command, false);
  }
  take_file(command);
  command.exported = script_.exported.size();
  if (script_.commands.size() < kMaxCommands) script_.commands.push_back(std::move(command));
}

void Lexer::read_command() {
  Command command;
  pending_.clear();
  while (!done()) {
    skip_blanks();
    if (done()) break;
    const char c = at();
    if (c == '\n') break;
    if (c == '#' && dialect_ != Dialect::cmd) {
      if (sees("#SBATCH") || sees("#PBS")) {
        const size_t end = std::min(text_.find('\n', pos_), text_.size());
        for (const Word& w : split_words(text_.substr(pos_ + 7, end - pos_ - 7))) {
          if (script_.sbatch.size() < 1000) script_.sbatch.push_back(w.text);
        }
      }
      skip_line();
      break;
    }
    if (c == '&' && dialect_ == Dialect::powershell && command.words.empty()) {  // call operator
      ++pos_;
      continue;
    }
    if (read_redirection(command)) continue;
    if (c == ';' || c == '|' || c == '&' || (dialect_ == Dialect::posix && (c == '(' || c == ')'))) {
      ++pos_;
      break;
    }
    if (command.words.empty() && read_assignments(command)) continue;
    const size_t before = pos_;
    read_word(command.words);
    if (pos_ == before) ++pos_;  // an operator that means nothing here
  }
  // Bodies of here-documents begin on the next line.
  if (!pending_.empty()) {
    // The rest of this line is other commands ("| tee f"); they are rare and carry no document.
    skip_line();
    for (const Pending& pending : pending_) {
      std::string body;
      if (at() == '\n') ++pos_;
      while (!done()) {
        const size_t end = std::min(text_.find('\n', pos_), text_.size());
        std::string_view line = text_.substr(pos_, end - pos_);
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        pos_ = end;
        if (trim(line) == pending.delimiter) break;
        if (pending.strip_tabs) {
          while (!line.empty() && line.front() == '\t') line.remove_prefix(1);
        }
        body += std::string(line) + "\n";
        if (!done()) ++pos_;
      }
      bool has_hole = false;
      command.document = pending.expand ? expand_text(body, has_hole, 0) : body;
      command.has_document = true;
    }
    pending_.clear();
  }
  end_command(std::move(command));
}

Script Lexer::run() {
  bool line_start = true;
  while (!done() && script_.commands.size() < kMaxCommands && words_ < kMaxWords) {
    if (at() == '\n') {
      ++pos_;
      line_start = true;
      continue;
    }
    if (line_start) skip_prompt();
    line_start = false;
    const size_t before = pos_;
    read_command();
    if (pos_ == before && !done() && at() != '\n') ++pos_;
  }
  return std::move(script_);
}

std::vector<Word> Lexer::words_only() {
  std::vector<Word> words;
  while (!done() && words_ < kMaxWords) {
    skip_blanks();
    if (at() == '\n') ++pos_;
    const size_t before = pos_;
    read_word(words);
    if (pos_ == before && !done() && !is_blank(at()) && at() != '\n') {
      // An operator is an ordinary character here: there is no shell.
      if (words_ < kMaxWords) words.emplace_back(std::string(1, at()));
      ++words_;
      ++pos_;
    }
  }
  return words;
}

}  // namespace

Script read_script(const ShellInput& input) {
  return Lexer(input.text, guess_dialect(input.text), input.variables, input.hash_is_prompt).run();
}

std::vector<Word> split_words(std::string_view text, const Variables& variables) {
  return Lexer(text, Dialect::posix, variables, false).words_only();
}

Word expand_word(std::string_view text, const Variables& variables) {
  return Lexer(text, Dialect::posix, variables, false).one_word();
}

}  // namespace vramwise::engines::launch
