#include <gtest/gtest.h>

#include "base/text.h"
#include "json/parse.h"
#include "json/reader.h"

namespace vramwise::json {
namespace {

TEST(Json, KeepsOrderAndReadsBack) {
  const std::string text = R"({"b":1,"a":[true,null,-2.5,"x\ny"],"c":{}})";
  const auto value = parse(text, "test");
  ASSERT_TRUE(value);
  EXPECT_EQ(dump(*value), text);
  EXPECT_EQ(*parse(dump(*value, 2), "again"), *value);
}

TEST(Json, LastOfTwoEqualKeysCounts) {
  const auto value = parse(R"({"a":1,"a":2})", "test");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->find("a")->as_integer(), 2);
}

TEST(Json, MalformedTextHasAPlace) {
  const auto value = parse("{\n  \"a\": 1,\n  \"b\": }\n", "config.json");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::invalid_input);
  EXPECT_EQ(value.error().where.line, 3);
  EXPECT_TRUE(contains(value.error().where.to_text(), "config.json:3:"));
}

TEST(Json, HostileTextIsRefused) {
  EXPECT_FALSE(parse("", "t"));
  EXPECT_FALSE(parse("  \n ", "t"));
  EXPECT_FALSE(parse("{\"a\":", "t"));
  EXPECT_FALSE(parse("[1,2] x", "t"));
  EXPECT_FALSE(parse("\xff\xfe", "t"));
  EXPECT_FALSE(parse("{\"a\":1e999}", "t"));
  const std::string deep(100000, '[');
  const auto nested = parse(deep, "t");
  ASSERT_FALSE(nested);
  EXPECT_EQ(nested.error().code, ErrorCode::too_large);
  ParseLimits few;
  few.values = 10;
  EXPECT_EQ(parse("[1,2,3,4,5,6,7,8,9,10,11]", "t", few).error().code, ErrorCode::too_large);
}

TEST(Json, BadUtf8IsReplacedWhenWritten) {
  EXPECT_EQ(quote("a\xff"
                  "b"),
            "\"a\xef\xbf\xbd"
            "b\"");
  EXPECT_EQ(quote("\x01\x7f"), "\"\\u0001\\u007f\"");
  EXPECT_EQ(quote("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");  // a surrogate
}

TEST(Json, ReaderNamesThePlaceOfAFault) {
  const std::string text = "{\n \"text_config\": {\n  \"num_hidden_layers\": \"32\"\n }\n}";
  const auto value = parse(text, "config.json");
  ASSERT_TRUE(value);
  const Reader root(*value, "config.json", text);
  const auto inner = root.require({"text_config"});
  ASSERT_TRUE(inner);
  const auto layers = inner->require_integer({"num_hidden_layers"}, 1, 10000);
  ASSERT_FALSE(layers);
  EXPECT_EQ(layers.error().where.pointer, "/text_config/num_hidden_layers");
  EXPECT_EQ(layers.error().where.line, 3);
  const auto missing = inner->require_integer({"hidden_size", "n_embd"});
  EXPECT_EQ(missing.error().code, ErrorCode::missing_field);
  EXPECT_TRUE(contains(missing.error().message, "n_embd"));
}

TEST(Json, ReaderBoundsNumbers) {
  const auto value =
      parse(R"({"layers":-3,"huge":1000000000000000000,"vast":1e30,"half":1.5})", "t");
  const Reader root(*value, "t");
  EXPECT_EQ(root.require_integer({"layers"}, 1, 100).error().code, ErrorCode::invalid_input);
  EXPECT_EQ(root.require_integer({"huge"}, 1, 100).error().code, ErrorCode::too_large);
  EXPECT_EQ(root.require_integer({"vast"}).error().code, ErrorCode::too_large);
  EXPECT_EQ(root.require_integer({"half"}).error().code, ErrorCode::invalid_input);
}

}  // namespace
}  // namespace vramwise::json
