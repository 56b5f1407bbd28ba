#include "engines/launch/literal.h"

#include <gtest/gtest.h>

namespace vramwise::engines::launch {
namespace {

TEST(Sizes, EachEngineHasItsOwnRule) {
  struct Case {
    std::string_view text;
    int64_t vllm, sglang, decimal;  // -1: refused
  };
  const Case cases[] = {
      {"4096", 4096, 4096, 4096},
      {"32k", 32'000, 32'000, -1},
      {"32K", 32'768, -1, 32'000},
      {"1M", 1 << 20, 1'000'000, 1'000'000},
      {"1m", 1'000'000, -1, -1},
      {"1Ki", -1, 1024, -1},
      {"2GB", -1, -1, 2'000'000'000},
      {"25.6k", 25'600, 25'600, -1},
      {"25.6K", -1, -1, 25'600},
      {"k", -1, -1, -1},
      {"1 k", -1, -1, -1},
      {"99999999999999999999", -1, -1, -1},
      {"9999999T", -1, -1, -1},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(vllm_size(c.text).value_or(-1), c.vllm) << c.text;
    EXPECT_EQ(sglang_size(c.text).value_or(-1), c.sglang) << c.text;
    EXPECT_EQ(decimal_size(c.text).value_or(-1), c.decimal) << c.text;
  }
}

std::string read(std::string_view text, LiteralRules rules) {
  const auto literal = read_whole_literal(text, rules);
  if (!literal) return "none";
  return json::dump(literal->value) + (literal->has_hole ? " hole" : "");
}

TEST(Literals, Python) {
  const LiteralRules python{.python = true};
  EXPECT_EQ(read("{'a': 1, \"b\": [True, None, (1, 2)], 'c': -1_000}", python),
            R"({"a":1,"b":[true,null,[1,2]],"c":-1000})");
  EXPECT_EQ(read("'a' \"b\" '''c'''", python), R"("abc")");
  EXPECT_EQ(read("r'a\\d'", python), R"("a\\d")");
  EXPECT_EQ(read("Config(a=1, b=Inner(c=x), d='e')", python), R"({"a":1,"b":{},"d":"e"} hole)");
  EXPECT_EQ(read("os.environ['X']", python), "none");
  EXPECT_EQ(read("[n, 2]", python), "[null,2] hole");
}

TEST(Literals, QuotesLostAndSuffixes) {
  EXPECT_EQ(read("{method: mtp, n: 2}", {.bare = true}), R"({"method":"mtp","n":2})");
  EXPECT_EQ(read("{\"a\": 80g, \"b\": 4K}", {.suffixes = true}), R"({"a":80000000000,"b":4096})");
  EXPECT_EQ(read("{\"a\": 80g}", {}), "none");
  EXPECT_EQ(read("{\"a\": [1, 2.5, \"x\\u00e9\"]}", {}), "{\"a\":[1,2.5,\"x\xC3\xA9\"]}");
}

TEST(Literals, CallsWithExpressions) {
  const auto call = read_call("\"m\", tp=2 * n, ctx=8192,  # note\n opts=dict(a=1), **kw)");
  ASSERT_TRUE(call);
  ASSERT_EQ(call->arguments.size(), 5U);
  EXPECT_EQ(call->arguments[0].value.as_string(), "m");
  EXPECT_TRUE(call->arguments[1].hole);
  EXPECT_EQ(call->arguments[2].value.as_integer(), 8192);
  EXPECT_EQ(json::dump(call->arguments[3].value), R"({"a":1})");
  EXPECT_EQ(call->arguments[4].name, "*");
}

TEST(Literals, DepthIsBounded) {
  EXPECT_FALSE(read_literal(std::string(100'000, '['), {.python = true}));
  EXPECT_FALSE(read_literal(std::string(100'000, '('), {.python = true}));
  std::string strings;
  for (int i = 0; i < 100'000; ++i) strings += "''";
  EXPECT_TRUE(read_literal(strings, {.python = true}));
}

}  // namespace
}  // namespace vramwise::engines::launch
