#include "catalog/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "json/parse.h"

namespace vramwise::catalog {
namespace {

constexpr Kind kKinds[] = {Kind::gpu,      Kind::model,   Kind::weights, Kind::engine,
                           Kind::instance, Kind::options, Kind::speed,   Kind::workload};

TEST(Catalog, EveryEntryParsesAndIsComplete) {
  for (const Kind kind : kKinds) {
    for (const std::string_view id : ids(kind)) {
      const auto entry = find(kind, id);
      ASSERT_TRUE(entry) << id << ": " << entry.error().message;
      EXPECT_EQ(entry->id, id);
      EXPECT_EQ(entry->value.find("id")->as_string(), id);
      const std::string text = json::dump(entry->value);
      EXPECT_FALSE(vramwise::contains(text, "\"$")) << "still coded: " << id;
    }
  }
}

TEST(Catalog, IdsAreSortedAndPlenty) {
  EXPECT_GE(ids(Kind::gpu).size(), 240U);
  EXPECT_GE(ids(Kind::model).size(), 200U);
  EXPECT_GE(ids(Kind::instance).size(), 100U);
  const auto all = ids(Kind::gpu);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
}

TEST(Catalog, LooksUpWithoutRegardToCaseAndSaysWhatMatched) {
  const auto by_id = find(Kind::gpu, "H100-SXM");
  ASSERT_TRUE(by_id);
  EXPECT_EQ(by_id->id, "h100-sxm");
  EXPECT_EQ(by_id->matched, "h100-sxm");
  const auto by_alias = find(Kind::gpu, "nvidia h100 80gb hbm3");
  ASSERT_TRUE(by_alias);
  EXPECT_EQ(by_alias->id, "h100-sxm");
  EXPECT_EQ(by_alias->matched, "NVIDIA H100 80GB HBM3");
  EXPECT_TRUE(contains(Kind::gpu, "RTX 4090"));
  EXPECT_FALSE(contains(Kind::gpu, "rtx-4090-ultra"));
}

TEST(Catalog, AFactComesBackWhole) {
  const auto entry = find(Kind::gpu, "h100-sxm");
  ASSERT_TRUE(entry);
  const json::Value* total = entry->value.find("memory_process_total");
  ASSERT_NE(total, nullptr);
  EXPECT_EQ(total->find("value")->as_integer(), 81090);
  EXPECT_EQ(total->find("unit")->as_string(), "MiB");
  EXPECT_EQ(total->find("confidence")->as_string(), "measured");
  EXPECT_EQ(total->find("plus_minus")->as_integer(), 16);
  EXPECT_FALSE(total->find("source")->as_string().empty());
}

TEST(Catalog, RunLengthsComeBackAsLists) {
  const auto entry = find(Kind::model, "openai/gpt-oss-20b");
  ASSERT_TRUE(entry);
  const json::Value* config = entry->value.find("config");
  ASSERT_NE(config, nullptr);
  const json::Array& types = config->find("layer_types")->as_array();
  ASSERT_EQ(types.size(), 24U);
  for (size_t i = 0; i < types.size(); ++i) {
    EXPECT_EQ(types[i].as_string(), i % 2 == 0 ? "sliding_attention" : "full_attention");
  }
}

TEST(Catalog, AnUnknownNameSuggestsTheNearest) {
  const auto missing = find(Kind::gpu, "h20O-sxm");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  ASSERT_FALSE(missing.error().hints.empty());
  EXPECT_TRUE(vramwise::contains(missing.error().hints.front(), "h200-sxm"));
  EXPECT_EQ(nearest(Kind::gpu, "h20O-sxm", 1), std::vector<std::string>{"h200-sxm"});
  EXPECT_TRUE(find(Kind::gpu, "").error().hints.empty());
  // A name without its end is completed before others are guessed.
  EXPECT_EQ(nearest(Kind::gpu, "V100", 2), (std::vector<std::string>{"V100 16GB", "V100 32GB"}));
}

TEST(Catalog, AnOverlayWinsOverTheEmbedded) {
  const auto added = add_overlay(Kind::gpu,
                                 R"({"id":"test-card","aliases":["Test Card"],"name":"Test",
    "vendor":"nvidia","pattern":{"$rle":[["a",2],["b",1]],"$times":2}})",
                                 "test-card.json");
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_EQ(*added, "test-card");
  const auto entry = find(Kind::gpu, "test card");
  ASSERT_TRUE(entry);
  EXPECT_EQ(json::dump(*entry->value.find("pattern")), R"(["a","a","b","a","a","b"])");
  const auto all = ids(Kind::gpu);
  EXPECT_EQ(std::count(all.begin(), all.end(), "test-card"), 1);
}

TEST(Catalog, ABrokenOverlayIsRefused) {
  EXPECT_EQ(add_overlay(Kind::gpu, "{", "x.json").error().code, ErrorCode::invalid_input);
  EXPECT_EQ(add_overlay(Kind::gpu, "[]", "x.json").error().code, ErrorCode::inconsistent);
  EXPECT_EQ(add_overlay(Kind::gpu, R"({"name":"no id"})", "x.json").error().code,
            ErrorCode::inconsistent);
  EXPECT_EQ(add_overlay(Kind::model, R"({"id":"x","a":{"$rle":[[0,2000000000]]}})", "x.json")
                .error()
                .code,
            ErrorCode::too_large);
  EXPECT_FALSE(contains(Kind::model, "x"));
}

}  // namespace
}  // namespace vramwise::catalog
