// Regular expressions over short names: module names in quantisation configs, tensor names in
// llama.cpp's overrides. (std::regex throws and would add 300 KB to the page.)
//
// Syntax, the part of Python's `re` and ECMAScript that such files use: literals, . ^ $ \b \B,
// \d \D \w \W \s \S, \n \t, escaped punctuation, [sets] with ranges and ^, ( ) (?: ) (?P<name> ),
// | * + ? {m} {m,} {m,n} with an optional lazy ?, lookahead (?= ) (?! ), and a leading (?i).
// Not supported, answered as an error: back-references and lookbehind. Bytes, not code points.
// Time is bounded by (size of the pattern) x (length of the text), times the lookaheads; there is
// no blow-up, and a match that would take more than kMaxSteps is none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vramwise {

class Pattern {
 public:
  // Errors: invalid_input for malformed or unsupported syntax, too_large beyond the limits below.
  static Result<Pattern> compile(std::string_view expression);

  // Python's re.search, re.match and re.fullmatch. Texts over kMaxText never match.
  bool search(std::string_view text) const;
  bool match_start(std::string_view text) const;
  bool match_all(std::string_view text) const;

  static constexpr size_t kMaxExpression = 4096;
  static constexpr size_t kMaxProgram = 8192;
  static constexpr size_t kMaxText = 4096;
  static constexpr int64_t kMaxSteps = int64_t{1} << 22;

 private:
  friend class PatternCompiler;
  friend class PatternRun;

  enum class Op : uint8_t {
    byte,   // a
    any,    // not \n
    set,    // a = index into sets_
    split,  // try a, then b
    jump,   // a
    begin,
    end,
    word_edge,
    no_word_edge,
    look,  // the program at pc + 1, up to `accept`, must match here; goes on at a
    look_not,
    accept,
  };
  struct Step {
    Op op;
    int32_t a = 0, b = 0;
  };
  struct Set {
    uint64_t bits[4] = {};
    void add(unsigned char c) { bits[c >> 6] |= uint64_t{1} << (c & 63); }
    bool has(unsigned char c) const { return bits[c >> 6] >> (c & 63) & 1; }
  };

  void find_required();

  std::vector<Step> program_;
  std::string required_;  // must be in the text for a match; empty: not known
  std::vector<Set> sets_;
  bool ignore_case_ = false;
};

}  // namespace vramwise
