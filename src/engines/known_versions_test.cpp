#include "engines/known_versions.h"

#include <gtest/gtest.h>

#include "catalog/catalog.h"

namespace vramwise::engines {
namespace {

// The notes on a version, their ids in order.
std::string noted(std::string_view engine, std::string_view version) {
  const auto parsed = Version::parse(version);
  EXPECT_TRUE(parsed.has_value()) << version;
  Notes notes;
  EXPECT_TRUE(note_version(*parsed, engine, notes).has_value()) << engine;
  std::string ids;
  for (const Note& note : notes.warnings) ids += "!" + note.id;
  for (const Note& note : notes.assumptions) ids += note.id;
  return ids;
}

TEST(KnownVersions, BuildsOfLlamaCppAreNoReleasesOfOthers) {
  const auto build = Version::parse("b9200");
  ASSERT_TRUE(build.has_value());
  for (const std::string_view engine : {"vllm", "sglang", "trtllm"}) {
    Notes notes;
    const auto refused = note_version(*build, engine, notes);
    ASSERT_FALSE(refused.has_value()) << engine;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_input);
  }
}

TEST(KnownVersions, OutsideIsWarnedOfInsideIsNoted) {
  EXPECT_EQ(noted("vllm", ""), "");
  EXPECT_EQ(noted("vllm", "0.31.2rc1"), "");
  EXPECT_EQ(noted("vllm", "v0.11.0"), "");
  EXPECT_EQ(noted("vllm", "0.99"), "!version_newer");
  EXPECT_EQ(noted("vllm", "1.0"), "!version_newer");
  EXPECT_EQ(noted("vllm", "0.5.4"), "!version_older");
  EXPECT_EQ(noted("vllm", "0.17.1"), "version_unvalidated");
  EXPECT_EQ(noted("vllm", "0.1.dev20051+g4d2a68d64"), "!version_unnumbered");
  EXPECT_EQ(noted("vllm", "0.0.0"), "!version_unnumbered");
  EXPECT_EQ(noted("vllm", "0.0.1"), "!version_older");
  // SGLang's releases count by the last number.
  EXPECT_EQ(noted("sglang", "0.5.15"), "");
  EXPECT_EQ(noted("sglang", "0.5.16"), "!version_newer");
  EXPECT_EQ(noted("sglang", "0.5"), "");
  EXPECT_EQ(noted("sglang", "0.3.1"), "!version_older");
  EXPECT_EQ(noted("trtllm", "1.3.0rc10"), "");
  EXPECT_EQ(noted("trtllm", "1.1"), "version_unvalidated");
  EXPECT_EQ(noted("llama.cpp", "b9849"), "");
  EXPECT_EQ(noted("llama.cpp", "b99999"), "!version_newer");
  EXPECT_EQ(noted("llama.cpp", "b100"), "!version_older");
  // A release number says nothing there; the engine itself warns of it.
  EXPECT_EQ(noted("llama.cpp", "1.0"), "");
  EXPECT_EQ(noted("ollama", "0.34"), "!version_newer");
}

TEST(KnownVersions, EveryEngineNamesItsNewest) {
  const auto ids = catalog::ids(catalog::Kind::engine);
  ASSERT_FALSE(ids.empty());
  for (const auto& id : ids) {
    const auto entry = catalog::find_shared(catalog::Kind::engine, id);
    ASSERT_TRUE(entry.has_value());
    const json::Value* newest = (*entry)->find("newest");
    ASSERT_NE(newest, nullptr) << id;
    EXPECT_EQ(noted(id, newest->as_string()), "") << id;
  }
}

}  // namespace
}  // namespace vramwise::engines
