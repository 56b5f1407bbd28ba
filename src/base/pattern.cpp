// Matching: runs a compiled program over a text.
#include "base/pattern.h"

#include "base/pattern_bytes.h"
#include "base/text.h"

namespace vramwise {

using pattern::is_word;
using pattern::lower;

// Backtracking with a memory of (step, position) pairs that were tried: without captures and
// back-references a pair that failed once fails always.
class PatternRun {
 public:
  PatternRun(const Pattern& pattern, std::string_view text, int64_t& steps)
      : p_(pattern),
        text_(text),
        steps_(steps),
        tried_(pattern.program_.size() * (text.size() + 1)) {
    steps_ -= int64_t(tried_.size() / 64);  // clearing costs as well
  }

  // Whether the program at `pc` accepts from `position`; `to_end`: only at the end of the text.
  bool accepts(size_t pc, size_t position, bool to_end) {
    std::vector<std::pair<size_t, size_t>> stack{{pc, position}};
    while (!stack.empty()) {
      auto [i, at] = stack.back();
      stack.pop_back();
      for (bool going = true; going;) {
        const size_t key = i * (text_.size() + 1) + at;
        if (tried_[key]) break;
        tried_[key] = true;
        if (--steps_ < 0) return false;
        const Pattern::Step& s = p_.program_[i];
        switch (s.op) {
          case Pattern::Op::byte:
            going = at < text_.size() && int32_t(byte(at)) == s.a;
            ++at, ++i;
            break;
          case Pattern::Op::any:
            going = at < text_.size() && text_[at] != '\n';
            ++at, ++i;
            break;
          case Pattern::Op::set:
            going = at < text_.size() && p_.sets_[size_t(s.a)].has(byte(at));
            ++at, ++i;
            break;
          case Pattern::Op::split:
            stack.emplace_back(size_t(s.b), at);
            i = size_t(s.a);
            break;
          case Pattern::Op::jump: i = size_t(s.a); break;
          case Pattern::Op::begin:
            going = at == 0;
            ++i;
            break;
          case Pattern::Op::end:
            going = at == text_.size();
            ++i;
            break;
          case Pattern::Op::word_edge:
          case Pattern::Op::no_word_edge: {
            const bool before = at > 0 && is_word(static_cast<unsigned char>(text_[at - 1]));
            const bool after = at < text_.size() && is_word(static_cast<unsigned char>(text_[at]));
            going = (before != after) == (s.op == Pattern::Op::word_edge);
            ++i;
            break;
          }
          case Pattern::Op::look:
          case Pattern::Op::look_not:
            // Nesting of lookaheads is bounded by kMaxNesting, and so is this recursion. A fresh
            // run: what failed inside a lookahead says nothing about the outer program.
            going = steps_ > 0 && PatternRun(p_, text_, steps_).accepts(i + 1, at, false) ==
                                      (s.op == Pattern::Op::look);
            i = size_t(s.a);
            break;
          case Pattern::Op::accept:
            if (!to_end || at == text_.size()) return true;
            going = false;
            break;
        }
      }
    }
    return false;
  }

 private:
  unsigned char byte(size_t at) const {
    const auto c = static_cast<unsigned char>(text_[at]);
    return p_.ignore_case_ ? lower(c) : c;
  }

  const Pattern& p_;
  std::string_view text_;
  int64_t& steps_;  // left for the whole match, lookaheads included
  std::vector<bool> tried_;
};

bool Pattern::search(std::string_view text) const {
  if (text.size() > kMaxText || !contains(text, required_)) return false;
  int64_t steps = kMaxSteps;
  PatternRun run(*this, text, steps);
  for (size_t start = 0; start <= text.size(); ++start) {
    if (run.accepts(0, start, false)) return true;
  }
  return false;
}

bool Pattern::match_start(std::string_view text) const {
  if (text.size() > kMaxText || !contains(text, required_)) return false;
  int64_t steps = kMaxSteps;
  return PatternRun(*this, text, steps).accepts(0, 0, false);
}

bool Pattern::match_all(std::string_view text) const {
  if (text.size() > kMaxText || !contains(text, required_)) return false;
  int64_t steps = kMaxSteps;
  return PatternRun(*this, text, steps).accepts(0, 0, true);
}

}  // namespace vramwise
