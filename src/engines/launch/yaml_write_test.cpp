#include "engines/launch/yaml_write.h"

#include <gtest/gtest.h>

#include "engines/launch/yaml.h"
#include "json/parse.h"

namespace vramwise::engines::launch {
namespace {

TEST(YamlWrite, ReadsBackAsTheSameValue) {
  for (
      const std::string_view text : {
          R"({"a":1,"b":[],"c":{},"d":null,"e":true,"f":0.5})",
          R"({"list":[{"a":1,"b":[1,2]},[3,[4]],"x",{}],"deep":{"a":{"b":{"c":"d"}}}})",
          // Texts that a reader of YAML 1.1 takes for something else when they stand bare.
          R"(["no","yes","on","~","null","1","1e3","0x10","012","1:30","2026-11-29",".5","-","=","<<"])",
          R"(["a: b","a #b","#a","- a","? a","*a","&a","!a","|","%a","@a","`a","'a'","\"a\"","{a","[a",",a"])",
          R"(["","  padded  ","tab\there","line\nbreak","ends\n","two\n\nblanks\n"," first\n","\u0001"])",
          R"({"key: odd":1,"no":2,"":3,"12":4})",
          R"(["Größe","模型","\ud83d\ude80","C:\\models\\x.gguf","$(VAR) ${X}"])",
      }) {
    const json::Value value = *json::parse(text, "test");
    const std::string yaml = write_yaml(value);
    const auto back = parse_yaml(yaml, "test");
    ASSERT_TRUE(back) << yaml;
    EXPECT_EQ(json::dump(back->front()), json::dump(value)) << yaml;
  }
}

TEST(YamlWrite, EscapesOfOtherWritersAreRead) {
  const auto read = parse_yaml(R"(["\x41\u00e9\U0001F680\ud83d\ude80","\u12","\xzz"])", "test");
  ASSERT_TRUE(read);
  EXPECT_EQ(json::dump(read->front()), R"(["Aé🚀🚀","u12","xzz"])");
}

TEST(YamlWrite, BlocksStandIndentedAndBare) {
  const json::Value value =
      *json::parse(R"({"a":{"b":["x","-1","--flag"],"c":[{"d":1,"e":2}]},"t":"1\n2\n"})", "test");
  EXPECT_EQ(write_yaml(value),
            "a:\n  b:\n    - x\n    - \"-1\"\n    - --flag\n  c:\n    - d: 1\n      e: 2\n"
            "t: |\n  1\n  2\n");
}

}  // namespace
}  // namespace vramwise::engines::launch
