#include "engines/launch/yaml.h"

#include <gtest/gtest.h>

namespace vramwise::engines::launch {
namespace {

std::string read(std::string_view text) {
  const auto documents = parse_yaml(text, "test");
  if (!documents) return "error line " + std::to_string(documents.error().where.line);
  std::string out;
  for (const json::Value& d : *documents) out += (out.empty() ? "" : " --- ") + json::dump(d);
  return out;
}

struct Case {
  std::string_view text, json;
};

TEST(Yaml, Shapes) {
  const Case cases[] = {
      {"a: 1\nb:\n  c: x\n  d: [1, 2]\n", R"({"a":1,"b":{"c":"x","d":[1,2]}})"},
      {"a:\n- 1\n- b: 2\n  c: 3\n- - x\n  - y\n", R"({"a":[1,{"b":2,"c":3},["x","y"]]})"},
      {"a:\n  - b:\n      c: 1\n    d: 2\n", R"({"a":[{"b":{"c":1},"d":2}]})"},
      {"{a: 1, b: {c: [x, 'y z', \"w\"]}, d: }", R"({"a":1,"b":{"c":["x","y z","w"]},"d":null})"},
      {"a: [1,\n  2,\n  3]\nb: 4", R"({"a":[1,2,3],"b":4})"},
      {"a:\nb: ~\n", R"({"a":null,"b":null})"},
      {"# only a comment\n", "null"},
      {"a: 1\n---\nb: 2\n", R"({"a":1} --- {"b":2})"},
      {"'a b': 1\n\"c:d\": 2", R"({"a b":1,"c:d":2})"},
      {"url: http://x:1/y # note", R"({"url":"http://x:1/y"})"},
      {"a: 1\na: 2", R"({"a":2})"},
  };
  for (const Case& c : cases) EXPECT_EQ(read(c.text), c.json) << c.text;
}

TEST(Yaml, ScalarsAsPyYamlReadsThem) {
  const Case cases[] = {
      {"64k", "\"64k\""}, {"0.9", "0.9"},   {"-1", "-1"},           {"1e3", "\"1e3\""},
      {"1.0e3", "1000"},  {"yes", "true"},  {"Off", "false"},       {"null", "null"},
      {"1_000", "1000"},  {"'1'", "\"1\""}, {"1.2.3", "\"1.2.3\""}, {"v1", "\"v1\""},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(read("k: " + std::string(c.text)), "{\"k\":" + std::string(c.json) + "}") << c.text;
  }
}

TEST(Yaml, BlockScalars) {
  const Case cases[] = {
      {"a: |\n  x\n   y\n\n  z\nb: 1", R"({"a":"x\n y\n\nz\n","b":1})"},
      {"a: >-\n  x\n  y\n\n  z\n", R"({"a":"x y\nz"})"},
      {"a: |-\n  x\n", R"({"a":"x"})"},
      {"a: |+\n  x\n\n", R"({"a":"x\n\n\n"})"},
      {"a:\n- >\n  x\n  y\n- z", R"({"a":["x y\n","z"]})"},
      {"a: x\n  y\n  z", R"({"a":"x y z"})"},
      {"a: \"x\n  y\"", R"({"a":"x y"})"},
  };
  for (const Case& c : cases) EXPECT_EQ(read(c.text), c.json) << c.text;
}

TEST(Yaml, AnchorsAndMerges) {
  EXPECT_EQ(read("a: &x {p: 1, q: 2}\nb: *x\nc:\n  <<: *x\n  q: 3\n"),
            R"({"a":{"p":1,"q":2},"b":{"p":1,"q":2},"c":{"p":1,"q":3}})");
  EXPECT_EQ(read("a: *nowhere"), "error line 1");
}

TEST(Yaml, FaultsNameTheLine) {
  EXPECT_EQ(read("a: 1\n\tb: 2"), "error line 2");
  EXPECT_EQ(read("a: [1, 2"), "error line 1");
  EXPECT_EQ(read("a:\n  b: 1\n   c: 2"), "error line 3");
  EXPECT_EQ(read("a: 1\njust words"), "error line 2");
}

TEST(Yaml, LimitsHold) {
  EXPECT_FALSE(parse_yaml(std::string(300, '['), "deep"));
  std::string laughs = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'l'; ++c) {
    const std::string before(1, char(c - 1));
    laughs += std::string(1, c) + ": &" + std::string(1, c) + " [";
    for (int i = 0; i < 9; ++i) laughs += (i > 0 ? ", *" : "*") + before;
    laughs += "]\n";
  }
  const auto grown = parse_yaml(laughs, "laughs");
  ASSERT_FALSE(grown);
  EXPECT_EQ(grown.error().code, ErrorCode::too_large);
}

}  // namespace
}  // namespace vramwise::engines::launch
