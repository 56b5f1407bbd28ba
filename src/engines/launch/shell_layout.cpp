// What surrounds the words of a shell line: prompts, continuations, redirections, here-documents.
#include "base/text.h"
#include "engines/launch/shell_lexer.h"

namespace vramwise::engines::launch::shell {

void Lexer::skip_line() {
  const size_t end = text_.find('\n', pos_);
  pos_ = end == std::string_view::npos ? text_.size() : end;
}

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
  // The sign that ends a prompt stands before a blank and behind something like user@host or a
  // path.
  const size_t sign = line.find_first_of("$#%>");
  if (sign != std::string_view::npos && sign > 0 && sign < 80 && sign + 1 < line.size() &&
      is_blank(line[sign + 1])) {
    const std::string_view head = line.substr(0, sign);
    const bool user_at_host = contains(head, "@") && line.find_first_of(" \t") > head.find('@');
    const bool windows =
        starts_with(head, "PS ") || (head.size() > 2 && head[1] == ':' && head[2] == '\\');
    if (user_at_host || starts_with(head, "[") || windows) drop(sign + 1);
  }
  for (const std::string_view sign_text : {"$ ", "> ", "% ", "\xE2\x9D\xAF ", "\xE2\x9E\x9C "}) {
    if (starts_with(line, sign_text)) drop(sign_text.size());
  }
  if (hash_is_prompt_ && starts_with(line, "# ")) drop(2);
  if (pos_ > start && dialect_ == Dialect::powershell && starts_with(line, "> ")) drop(2);
}

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

void Lexer::read_document(Command& command) {
  pos_ += 2;          // <<
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
  if (i < text_.size() && text_[i] == '&' && i + 1 < text_.size() && text_[i + 1] == '>' &&
      i == pos_) {
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
      if (is_blank(at()) || at() == '\n' || done() || at() == '&' || at() == ';' || at() == '|')
        return true;
    }
  }
  skip_blanks();
  std::vector<Word> target;
  read_word(target);
  if (writes && !target.empty() && command.writes_to.empty()) command.writes_to = target[0].text;
  return true;
}

}  // namespace vramwise::engines::launch::shell
