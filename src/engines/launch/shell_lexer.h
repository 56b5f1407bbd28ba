// The lexer behind shell.h; only shell.cpp and shell_words.cpp include this.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engines/launch/shell.h"

namespace vramwise::engines::launch::shell {

inline constexpr size_t kMaxWords = 100'000;
inline constexpr size_t kMaxCommands = 2'000;
inline constexpr size_t kMaxWordBytes = size_t{1} << 20;
inline constexpr size_t kMaxExpansion = size_t{4}
                                        << 20;  // bytes that variables may put into a paste
inline constexpr int kMaxDepth = 8;             // ${A:-${B:-...}}

inline bool is_name_start(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_name(char c) { return is_name_start(c) || is_digit(c); }
inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

class Lexer {
 public:
  Lexer(std::string_view text, Dialect dialect, Variables variables, bool hash_is_prompt)
      : text_(text),
        dialect_(dialect),
        variables_(std::move(variables)),
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
    return dialect_ == Dialect::posix ? c == '\\' : dialect_ == Dialect::cmd ? c == '^' : c == '`';
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

}  // namespace vramwise::engines::launch::shell
