// Commands of a shell script: what stands between newlines, ; && || | and &.
#include "engines/launch/shell.h"

#include <array>

#include "base/text.h"
#include "engines/launch/shell_lexer.h"

namespace vramwise::engines::launch {
namespace shell {

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
    if (c == ';' || c == '|' || c == '&' ||
        (dialect_ == Dialect::posix && (c == '(' || c == ')'))) {
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

}  // namespace shell

Script read_script(const ShellInput& input) {
  return shell::Lexer(input.text, guess_dialect(input.text), input.variables, input.hash_is_prompt)
      .run();
}

std::vector<Word> split_words(std::string_view text, const Variables& variables) {
  return shell::Lexer(text, Dialect::posix, variables, false).words_only();
}

Word expand_word(std::string_view text, const Variables& variables) {
  return shell::Lexer(text, Dialect::posix, variables, false).one_word();
}

}  // namespace vramwise::engines::launch
