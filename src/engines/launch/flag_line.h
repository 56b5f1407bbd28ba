// Walks over the arguments of programs that use Python's argparse, click or Rust's clap: one set of
// habits with a few switches. llama.cpp has a parser of its own (llamacpp_line.cpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engines/launch/option_sink.h"

namespace vramwise::engines::launch {

struct FlagStyle {
  bool folds_underscores = false;  // --max_model_len is --max-model-len (vLLM)
  bool prefixes = true;            // a unique beginning is enough (argparse)
  bool only_family = false;        // the subcommand's own options only
  bool optional_values = false;    // --flag true as well as --flag (clap)
};

class FlagLine {
 public:
  FlagLine(OptionSink& sink, FlagStyle style) : sink_(sink), style_(style) {}
  virtual ~FlagLine() = default;

  void walk(const std::vector<Word>& args);

 protected:
  // An argument that is no option.
  virtual void positional(const Word& word) = 0;
  // Looks at args[i] first; true when it was read, with i behind it.
  virtual bool special(const std::vector<Word>& args, size_t& i);
  // A list option took these words.
  virtual void took_list(const Option& option, const std::vector<Word>& words);

  bool looks_like_option(const Word& word) const;
  // Spelling as the parser compares it: up to the first dot for dotted keys.
  std::string normalised(std::string_view token) const;
  // The next word when it can be a value; nullptr when there is none.
  const Word* value_at(const std::vector<Word>& args, size_t i) const;

  OptionSink& sink_;
  FlagStyle style_;

 private:
  void option(const std::vector<Word>& args, size_t& i);
  void take(const Match& match, const std::string& token, const Word* attached,
            const std::vector<Word>& args, size_t& i);
  void not_known(const std::string& token, const Word* attached, const std::vector<Word>& args,
                 size_t& i);
};

// The part of a word in front of '=' and the rest, keeping what is known about the word.
bool split_equals(const Word& word, std::string& token, Word& value);

}  // namespace vramwise::engines::launch
