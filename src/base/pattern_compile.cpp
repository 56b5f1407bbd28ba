// From an expression to a program: Pattern::compile.
#include <algorithm>

#include "base/pattern.h"
#include "base/pattern_bytes.h"
#include "base/text.h"

namespace vramwise {
namespace {

using pattern::is_word;
using pattern::lower;

constexpr int kMaxNesting = 32;
constexpr int64_t kMaxRepeat = 255;

}  // namespace

// Recursive descent straight to steps, without a tree. What comes later in the text but earlier in
// the program (the split before an alternative, the repetitions of a piece) is made by moving or
// copying finished steps, so each character is read once; kMaxProgram bounds the result.
class PatternCompiler {
 public:
  PatternCompiler(std::string_view text, Pattern& out) : text_(text), out_(out) {}

  bool run() {
    if (starts_with(text_, "(?i)")) {
      out_.ignore_case_ = true;
      at_ = 4;
    }
    if (!alternatives(0)) return false;
    if (at_ < text_.size()) return give_up("unbalanced )");
    emit(Pattern::Op::accept);
    return !too_large_ || give_up("pattern grows too large");
  }

  bool too_large() const { return too_large_; }
  const std::string& fault() const { return fault_; }
  size_t at() const { return at_; }

 private:
  using Op = Pattern::Op;

  bool give_up(std::string why) {
    if (fault_.empty()) fault_ = std::move(why);
    return false;
  }

  int32_t here() const { return int32_t(out_.program_.size()); }

  int32_t emit(Op op, int32_t a = 0, int32_t b = 0) {
    if (out_.program_.size() >= Pattern::kMaxProgram) {
      too_large_ = true;
      return 0;
    }
    out_.program_.push_back({op, a, b});
    return here() - 1;
  }

  Pattern::Step& step(int32_t i) { return out_.program_[size_t(i)]; }

  // Applies f to every step index that a step holds.
  template <class F>
  static void each_target(Pattern::Step& s, F f) {
    if (s.op == Op::split || s.op == Op::jump || s.op == Op::look || s.op == Op::look_not) f(s.a);
    if (s.op == Op::split) f(s.b);
  }

  // Puts a step in front of the finished steps [start, here()), which only point among themselves.
  void insert(int32_t start, Op op, int32_t a = 0, int32_t b = 0) {
    if (emit(op) == 0 && too_large_) return;
    std::vector<Pattern::Step>& steps = out_.program_;
    std::rotate(steps.begin() + start, steps.end() - 1, steps.end());
    step(start) = {op, a, b};
    for (int32_t i = start + 1; i < here(); ++i) each_target(step(i), [](int32_t& t) { ++t; });
  }

  // Appends a copy of the finished steps [start, end).
  void copy(int32_t start, int32_t end) {
    const int32_t move = here() - start;
    for (int32_t i = start; i < end && !too_large_; ++i) {
      Pattern::Step s = step(i);
      each_target(s, [move](int32_t& t) { t += move; });
      emit(s.op, s.a, s.b);
    }
  }

  // a|b|c: split to each branch; all branches jump to the end.
  bool alternatives(int depth) {
    if (depth > kMaxNesting) return give_up("nested too deep");
    std::vector<int32_t> exits;
    for (;;) {
      const int32_t branch = here();
      if (!sequence(depth)) return false;
      if (at_ >= text_.size() || text_[at_] != '|') break;
      ++at_;
      insert(branch, Op::split, branch + 1);
      exits.push_back(emit(Op::jump));
      if (too_large_) return give_up("pattern grows too large");
      step(branch).b = here();
    }
    for (const int32_t jump : exits) step(jump).a = here();
    return !too_large_ || give_up("pattern grows too large");
  }

  bool sequence(int depth) {
    while (at_ < text_.size() && text_[at_] != '|' && text_[at_] != ')') {
      if (!quantified(depth)) return false;
    }
    return true;
  }

  bool quantified(int depth) {
    const size_t piece = at_;
    const int32_t start = here();
    if (!atom(depth)) return false;
    const size_t after = at_;
    int64_t least = 1, most = 1;
    if (!quantifier(least, most)) return false;
    if (at_ == after || too_large_) return true;
    // A lookahead takes no room in the text; repeating it says nothing new.
    const std::string_view looks = text_.substr(piece, 3);
    if (looks == "(?=" || looks == "(?!") return least > 0 || give_up("nothing to repeat");
    const int32_t end = here();
    for (int64_t i = 1; i < least; ++i) copy(start, end);
    if (most < 0) {
      // x*: split(x, out) x jump(split). x+ and more: the last copy repeats: x split(x, out).
      if (least == 0) {
        insert(start, Op::split, start + 1);
        emit(Op::jump, start);
        if (!too_large_) step(start).b = here();
      } else {
        const int32_t last = here() - (end - start);
        emit(Op::split, last, here() + 1);
      }
    } else if (most == 0) {
      out_.program_.resize(size_t(start));
    } else {
      // Optional copies, each behind a split that leaves to the very end.
      std::vector<int32_t> forks;
      if (least == 0) {
        insert(start, Op::split, start + 1);
        forks.push_back(start);
      }
      const int32_t first = least == 0 ? start + 1 : start;
      for (int64_t i = std::max<int64_t>(least, 1); i < most && !too_large_; ++i) {
        forks.push_back(emit(Op::split, here() + 1));
        copy(first, first + (end - start));
      }
      for (const int32_t fork : forks) {
        if (!too_large_) step(fork).b = here();
      }
    }
    return !too_large_ || give_up("pattern grows too large");
  }

  // Leaves `least` and `most` alone when there is no quantifier; most < 0 means no limit.
  bool quantifier(int64_t& least, int64_t& most) {
    if (at_ >= text_.size()) return true;
    const char c = text_[at_];
    if (c == '*') {
      least = 0, most = -1, ++at_;
    } else if (c == '+') {
      least = 1, most = -1, ++at_;
    } else if (c == '?') {
      least = 0, most = 1, ++at_;
    } else if (c == '{') {
      const size_t close = text_.find('}', at_);
      if (close == std::string_view::npos) return true;  // a literal brace, as in Python
      const std::string_view body = text_.substr(at_ + 1, close - at_ - 1);
      const size_t comma = body.find(',');
      const auto low = parse_integer(body.substr(0, comma));
      if (!low) return true;
      least = *low;
      most = *low;
      if (comma != std::string_view::npos) {
        const std::string_view high = body.substr(comma + 1);
        const auto limit = parse_integer(high);
        if (!high.empty() && !limit) return true;
        most = high.empty() ? -1 : *limit;
      }
      if (least < 0 || least > kMaxRepeat || most > kMaxRepeat || (most >= 0 && most < least)) {
        return give_up("bad repetition");
      }
      at_ = close + 1;
    } else {
      return true;
    }
    // Lazy or greedy is the same for a yes-or-no answer.
    if (at_ < text_.size() && text_[at_] == '?') ++at_;
    if (at_ < text_.size() && (text_[at_] == '*' || text_[at_] == '+')) {
      return give_up("nothing to repeat");
    }
    return true;
  }

  bool atom(int depth) {
    const char c = text_[at_];
    switch (c) {
      case '(': return group(depth);
      case '[': return bracket();
      case '.': emit(Op::any); break;
      case '^': emit(Op::begin); break;
      case '$': emit(Op::end); break;
      case '*':
      case '+':
      case '?': return give_up("nothing to repeat");
      case '\\': return escape();
      default: literal(static_cast<unsigned char>(c)); break;
    }
    ++at_;
    return true;
  }

  void literal(unsigned char c) { emit(Op::byte, out_.ignore_case_ ? lower(c) : c); }

  bool group(int depth) {
    ++at_;  // '('
    Op look = Op::accept;
    const std::string_view rest = text_.substr(at_);
    if (starts_with(rest, "?:")) {
      at_ += 2;
    } else if (starts_with(rest, "?P<")) {
      const size_t close = text_.find('>', at_);
      if (close == std::string_view::npos) return give_up("unfinished group name");
      at_ = close + 1;
    } else if (starts_with(rest, "?=") || starts_with(rest, "?!")) {
      look = rest[1] == '=' ? Op::look : Op::look_not;
      at_ += 2;
    } else if (starts_with(rest, "?")) {
      return give_up("this kind of group is not supported");
    }
    const int32_t opened = look == Op::accept ? -1 : emit(look);
    if (!alternatives(depth + 1)) return false;
    if (at_ >= text_.size()) return give_up("missing )");
    ++at_;
    if (opened >= 0) {
      emit(Op::accept);
      if (too_large_) return give_up("pattern grows too large");
      step(opened).a = here();
    }
    return true;
  }

  // Fills `set` for \d and kin; false when the letter names no class.
  static bool named_class(char c, Pattern::Set& set) {
    const char kind = char(lower(static_cast<unsigned char>(c)));
    if (kind != 'd' && kind != 'w' && kind != 's') return false;
    const bool negate = kind != c;
    for (int i = 0; i < 256; ++i) {
      const auto b = static_cast<unsigned char>(i);
      const bool in = kind == 'd'   ? b >= '0' && b <= '9'
                      : kind == 'w' ? is_word(b)
                                    : b == ' ' || (b >= '\t' && b <= '\r');
      if (in != negate) set.add(b);
    }
    return true;
  }

  static unsigned char escaped(char c) {
    return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : static_cast<unsigned char>(c);
  }

  void emit_set(const Pattern::Set& set) {
    emit(Op::set, int32_t(out_.sets_.size()));
    if (!too_large_) out_.sets_.push_back(set);
  }

  bool escape() {
    if (at_ + 1 >= text_.size()) return give_up("pattern ends in a backslash");
    const char c = text_[at_ + 1];
    at_ += 2;
    Pattern::Set set;
    if (named_class(c, set)) {
      emit_set(set);
    } else if (c == 'b') {
      emit(Op::word_edge);
    } else if (c == 'B') {
      emit(Op::no_word_edge);
    } else if (c == 'A') {
      emit(Op::begin);
    } else if (c == 'Z' || c == 'z') {
      emit(Op::end);
    } else if (c >= '0' && c <= '9') {
      return give_up("back-references are not supported");
    } else {
      literal(escaped(c));
    }
    return true;
  }

  bool bracket() {
    ++at_;  // '['
    Pattern::Set set;
    bool negate = false;
    if (at_ < text_.size() && text_[at_] == '^') {
      negate = true;
      ++at_;
    }
    bool first = true;
    for (;; first = false) {
      if (at_ >= text_.size()) return give_up("missing ]");
      if (text_[at_] == ']' && !first) break;
      unsigned char from = 0;
      if (!member(set, from)) {
        if (!fault_.empty()) return false;
        continue;  // a class such as \d went in whole
      }
      unsigned char to = from;
      if (at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']') {
        ++at_;
        Pattern::Set ignored;
        if (!member(ignored, to)) return give_up("bad range in a set");
        if (to < from) return give_up("bad range in a set");
      }
      for (int b = from; b <= to; ++b) {
        set.add(static_cast<unsigned char>(b));
        if (out_.ignore_case_) set.add(lower(static_cast<unsigned char>(b)));
      }
    }
    ++at_;  // ']'
    if (negate) {
      for (uint64_t& bits : set.bits) bits = ~bits;
    }
    emit_set(set);
    return true;
  }

  // One character of a set; false when it was a class, then already added to `set`.
  bool member(Pattern::Set& set, unsigned char& byte) {
    char c = text_[at_++];
    if (c == '\\') {
      if (at_ >= text_.size()) return give_up("missing ]");
      c = text_[at_++];
      if (named_class(c, set)) return false;
      byte = escaped(c);
      return true;
    }
    byte = static_cast<unsigned char>(c);
    return true;
  }

  std::string_view text_;
  Pattern& out_;
  size_t at_ = 0;
  bool too_large_ = false;
  std::string fault_;
};

// The longest run of bytes that every match contains: most names fail on it alone. Walks the steps
// that cannot be avoided: over optional pieces, and over alternatives to where they meet.
void Pattern::find_required() {
  if (ignore_case_) return;
  std::string run;
  const auto close = [&] {
    if (run.size() > required_.size()) required_ = run;
    run.clear();
  };
  for (size_t i = 0; i < program_.size();) {
    const Step& s = program_[i];
    if (s.op == Op::byte) {
      run += char(s.a);
      ++i;
      continue;
    }
    close();
    if (s.op == Op::accept || s.op == Op::jump) break;
    if (s.op == Op::look || s.op == Op::look_not) {
      i = size_t(s.a);
    } else if (s.op == Op::split && s.a > int32_t(i)) {
      // x? and x* go on at b. The jump in front of b that ends a first alternative leads further.
      const Step& last = program_[size_t(s.b) - 1];
      const bool alternatives = last.op == Op::jump && last.a >= s.b;
      i = size_t(alternatives ? last.a : s.b);
    } else {
      ++i;
    }
  }
  close();
}

Result<Pattern> Pattern::compile(std::string_view expression) {
  if (expression.size() > kMaxExpression) {
    return fail(ErrorCode::too_large, "pattern longer than 4096 bytes");
  }
  Pattern pattern;
  PatternCompiler compiler(expression, pattern);
  if (!compiler.run()) {
    return fail(compiler.too_large() ? ErrorCode::too_large : ErrorCode::invalid_input,
                "pattern \"" + std::string(expression.substr(0, 80)) + "\": " + compiler.fault() +
                    " at character " + format_integer(int64_t(compiler.at()) + 1));
  }
  pattern.find_required();
  return pattern;
}

}  // namespace vramwise
