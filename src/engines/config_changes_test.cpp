#include "engines/config_changes.h"

#include <gtest/gtest.h>

#include <array>

#include "json/parse.h"

namespace vramwise::engines {
namespace {

json::Value parsed(std::string_view text) {
  const auto value = json::parse(text, "test");
  EXPECT_TRUE(value) << text;
  return value ? *value : json::Value();
}

TEST(ConfigChanges, ObjectsTextAndSingleKeys) {
  constexpr std::array<std::string_view, 1> kWhole = {"hf_overrides"};
  constexpr std::array<std::string_view, 1> kKeys = {"rope_theta"};
  const auto changes = [&](std::string_view options) {
    return config_changes(Options::from_json(parsed(options)), kWhole, kKeys);
  };
  EXPECT_TRUE(changes(R"({"max_model_len": 1})")->is_null());
  EXPECT_EQ(*changes(R"({"hf_overrides": {"a": {"b": 1}}, "rope_theta": 5})"),
            parsed(R"({"a": {"b": 1}, "rope_theta": 5})"));
  EXPECT_EQ(*changes(R"({"hf_overrides": "{\"a\": 2}"})"), parsed(R"({"a": 2})"));
  EXPECT_FALSE(changes(R"({"hf_overrides": "[1]"})"));
  EXPECT_FALSE(changes(R"({"hf_overrides": "{"})"));
  EXPECT_FALSE(changes(R"({"hf_overrides": 3})"));
}

TEST(ConfigChanges, MergesObjectsAndReplacesTheRest) {
  json::Value config = parsed(R"({"text_config": {"layers": 4, "width": 8}, "list": [1, 2],
                                  "rope_scaling": {"rope_type": "llama3", "factor": 8}})");
  apply_config_changes(config, parsed(R"({"text_config": {"layers": 2}, "list": [3],
                                          "rope_parameters": {"rope_type": "yarn"}})"));
  EXPECT_EQ(config, parsed(R"({"text_config": {"layers": 2, "width": 8}, "list": [3],
                               "rope_parameters": {"rope_type": "yarn"}})"));
}

}  // namespace
}  // namespace vramwise::engines
