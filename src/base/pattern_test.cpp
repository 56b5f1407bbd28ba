#include "base/pattern.h"

#include <gtest/gtest.h>

#include <string>

namespace vramwise {
namespace {

struct Case {
  const char* pattern;
  const char* text;
  bool search, start, all;
};

TEST(Pattern, AgreesWithPythonsRe) {
  const Case cases[] = {
      // pattern, text, re.search, re.match, re.fullmatch
      {"abc", "xabcx", true, false, false},
      {"abc", "abc", true, true, true},
      {"", "abc", true, true, false},
      {"^b", "ab", false, false, false},
      {"b$", "ab", true, false, false},
      {"a.c", "abc", true, true, true},
      {"a\\.c", "abc", false, false, false},
      {"[a-c]+", "abcab", true, true, true},
      {"[^a-c]", "abc", false, false, false},
      {"[]a]", "]", true, true, true},
      {"\\d+", "layers.12.x", true, false, false},
      {"a|bc|d", "bc", true, true, true},
      {"(a|b)*c", "ababc", true, true, true},
      {"(?:ab){2}", "abab", true, true, true},
      {"a{2,3}", "aaaa", true, true, false},
      {"a{2,}", "aaaa", true, true, true},
      {"a{0}b", "b", true, true, true},
      {"a{0,2}b", "aab", true, true, true},
      {"(ab|cd){1,2}e", "abcde", true, true, true},
      {"a{x}", "a{x}", true, true, true},
      {"x*?y", "xxy", true, true, true},
      {"\\bgate\\b", "mlp.gate.weight", true, false, false},
      {"\\bgate\\b", "mlp.gate_proj.weight", false, false, false},
      {"(?!.*gate).*mlp.*", "mlp.up_proj", true, true, true},
      {"^(?!.*gate).*mlp.*", "mlp.gate", false, false, false},
      {"(?=.*up)mlp", "mlp.up", true, true, false},
      {"(?i)ABC", "abc", true, true, true},
      {"(a*)*", "aaa", true, true, true},
      {"(a|b|)+c", "abc", true, true, true},
      // As met in the wild: compressed-tensors ignore lists, GPTQ `dynamic`, llama.cpp overrides.
      {".*mlp\\.(gate|up|gate_up|down)_proj.*", "model.layers.0.mlp.gate_proj", true, true, true},
      {".*mlp\\.(gate|up|gate_up|down)_proj.*", "model.layers.4.mlp.experts.0.gate_proj", false,
       false, false},
      {".*self_attn.*", "language_model.model.layers.7.self_attn.o_proj", true, true, true},
      {"\\.ffn_(up|down|gate|gate_up)_(ch|)exps", "blk.3.ffn_up_exps.weight", true, false, false},
      {"blk\\.([0-9]|1[0-5])\\..*", "blk.12.attn_q.weight", true, true, true},
      {"blk\\.([0-9]|1[0-5])\\..*", "blk.16.attn_q.weight", false, false, false},
  };
  for (const Case& c : cases) {
    const auto pattern = Pattern::compile(c.pattern);
    ASSERT_TRUE(pattern) << c.pattern << ": " << pattern.error().message;
    EXPECT_EQ(pattern->search(c.text), c.search) << c.pattern << " in " << c.text;
    EXPECT_EQ(pattern->match_start(c.text), c.start) << c.pattern << " at start of " << c.text;
    EXPECT_EQ(pattern->match_all(c.text), c.all) << c.pattern << " is " << c.text;
  }
}

TEST(Pattern, RefusesWhatItCannotRead) {
  for (const char* bad :
       {"(", ")", "a)", "[a", "*a", "a**", "(?<=a)b", "(a)\\1", "\\", "[b-a]", "a{3,2}", "(?P<x"}) {
    const auto pattern = Pattern::compile(bad);
    ASSERT_FALSE(pattern) << bad;
    EXPECT_EQ(pattern.error().code, ErrorCode::invalid_input) << bad;
  }
}

TEST(Pattern, IsBoundedOnHostileInput) {
  // Doubles the program at each level: refused, not built.
  EXPECT_EQ(Pattern::compile("((((a{200}){200}){200}){200})").error().code, ErrorCode::too_large);
  EXPECT_EQ(Pattern::compile(std::string(5000, 'a')).error().code, ErrorCode::too_large);
  EXPECT_FALSE(Pattern::compile(std::string(100, '(') + std::string(100, ')')));
  // Exponential in naive backtracking, and in compilers that read a branch twice.
  const auto slow = Pattern::compile("(a+)+(a+)+(a|aa)+b");
  ASSERT_TRUE(slow);
  EXPECT_FALSE(slow->search(std::string(2000, 'a')));
  std::string nested = "x";
  for (int i = 0; i < 30; ++i) nested = "(" + nested + "|y)*";
  ASSERT_TRUE(Pattern::compile(nested));
  EXPECT_FALSE(slow->search(std::string(5000, 'b')));  // longer than kMaxText
  // Lookaheads inside lookaheads: each would start over at every character.
  std::string looks = "b";
  for (int i = 0; i < 12; ++i) looks = "(?=.*" + looks + ")";
  const auto deep = Pattern::compile(looks + "c");
  ASSERT_TRUE(deep);
  EXPECT_FALSE(deep->search(std::string(2000, 'a') + "c"));
}

}  // namespace
}  // namespace vramwise
