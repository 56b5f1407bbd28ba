#include "engines/draft_head.h"

#include <gtest/gtest.h>

#include "catalog/model_ref.h"
#include "model/from_config.h"

namespace vramwise::engines {
namespace {

model::Model of_catalog(std::string_view id) {
  auto ref = catalog::resolve_model(id);
  EXPECT_TRUE(ref.has_value()) << id;
  auto model = model::from_config(json::Reader(ref->config, "config.json"), id);
  EXPECT_TRUE(model.has_value()) << id;
  return std::move(*model);
}

// Published heads: the file's size, less the embedding that servers share with the target.
TEST(DraftHead, SizesOfPublishedHeads) {
  struct Case {
    std::string_view target;
    HeadKind kind;
    double file_gb;       // as the repository shows it
    bool with_embedding;  // the file holds a copy of the target's embedding
    std::string_view source;
  };
  const Case cases[] = {
      {"meta-llama/Llama-3.1-8B-Instruct", HeadKind::eagle3, 0.85, false,
       "huggingface.co yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"},
      {"Qwen/Qwen2-7B-Instruct", HeadKind::eagle, 1.6, true, "ikawrakow/ik_llama.cpp#322"},
  };
  for (const Case& c : cases) {
    const model::Model target = of_catalog(c.target);
    const HeadEstimate head = estimate_head(c.kind, target, 1);
    double bytes = double(head.weights.likely.count());
    if (c.with_embedding) bytes += 2.0 * double(target.hidden_size * target.vocab_size);
    EXPECT_NEAR(bytes / 1e9, c.file_gb, 0.05) << c.source;
    EXPECT_LT(head.weights.low, head.weights.likely);
    EXPECT_GT(head.weights.high, head.weights.likely);
    EXPECT_EQ(head.cache_layers, 1);
  }
}

TEST(DraftHead, RanksShareMatricesButNotTheFusion) {
  const model::Model target = of_catalog("meta-llama/Llama-3.1-8B-Instruct");
  const Bytes one = estimate_head(HeadKind::eagle3, target, 1).weights.likely;
  const Bytes four = estimate_head(HeadKind::eagle3, target, 4).weights.likely;
  const Bytes fusion(2 * 3 * target.hidden_size * target.hidden_size);
  EXPECT_EQ((four - fusion) * 4, one - fusion);
}

TEST(DraftHead, KindFromMethodThenName) {
  EXPECT_EQ(head_kind("eagle3", ""), HeadKind::eagle3);
  EXPECT_EQ(head_kind("EAGLE", "x"), HeadKind::eagle);
  EXPECT_EQ(head_kind("draft-dflash", ""), HeadKind::dflash);
  EXPECT_EQ(head_kind("", "RedHatAI/Qwen3-32B-speculator.eagle3"), HeadKind::eagle3);
  EXPECT_EQ(head_kind("draft_model", "org/Model-EAGLE"), HeadKind::eagle);
  // What the method says outright is not overruled by a name.
  EXPECT_EQ(head_kind("mtp", "org/Model-EAGLE"), HeadKind::none);
  EXPECT_EQ(head_kind("ngram", ""), HeadKind::none);
  EXPECT_EQ(head_kind("", "Qwen/Qwen3-0.6B"), HeadKind::none);
}

}  // namespace
}  // namespace vramwise::engines
