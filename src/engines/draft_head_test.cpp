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

// A config of the head's own names its output rows (sgl-project/SpecForge
// configs/llama3-8B-eagle3.json has 32,000; others have more).
TEST(DraftHead, ItsOwnConfigSettlesTheRows) {
  auto ref = catalog::resolve_model("meta-llama/Llama-3.1-8B-Instruct");
  ASSERT_TRUE(ref.has_value());
  json::Value config = ref->config;
  config.set("num_hidden_layers", int64_t{1});
  config.set("draft_vocab_size", int64_t{73448});
  const auto model = model::from_config(json::Reader(config, "config.json"), "head");
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->draft_vocab_size, 73448);
  const HeadEstimate head = estimate_head(HeadKind::eagle3, *model, 1);
  const HeadEstimate usual =
      estimate_head(HeadKind::eagle3, of_catalog("meta-llama/Llama-3.1-8B-Instruct"), 1);
  EXPECT_EQ((head.weights.likely - usual.weights.likely).count(), 2 * 4096 * (73448 - 32000));
  EXPECT_EQ(head.weights.low, head.weights.likely);
  EXPECT_EQ((head.weights.high - head.weights.likely).count(), 2 * int64_t{4096} * 128256);
}

// Heads whose config is public: the tensors that llama.cpp creates for one (src/models/eagle3.cpp,
// dflash.cpp), counted from that config, beside the estimate from the target alone.
TEST(DraftHead, ShapesOfPublishedConfigs) {
  struct Config {
    std::string_view target;
    HeadKind kind;
    int64_t layers, hidden, heads, kv_heads, head_dim, ffn;  // of the head
    double part;                                             // relative error allowed
    std::string_view source;
  };
  const Config cases[] = {
      {"meta-llama/Llama-3.1-8B-Instruct", HeadKind::eagle3, 1, 4096, 32, 8, 128, 14336, 0.001,
       "sgl-project/SpecForge configs: the target's widths"},
      {"meta-llama/Llama-3.1-70B", HeadKind::eagle3, 1, 8192, 64, 8, 128, 28672, 0.001,
       "sgl-project/SpecForge configs/llama3-70B-ealge3.json"},
      {"Qwen/Qwen3-32B", HeadKind::eagle3, 1, 5120, 64, 8, 80, 25600, 0.08,
       "sgl-project/SpecForge configs/qwen3-32b-eagle3.json"},
      {"Qwen/Qwen3-30B-A3B", HeadKind::eagle3, 1, 2048, 32, 4, 128, 6144, 0.09,
       "sgl-project/SpecForge configs/qwen3-30B-eagle3.json"},
      {"deepseek-ai/DeepSeek-V3", HeadKind::eagle3, 1, 7168, 56, 8, 128, 40960, 0.33,
       "sgl-project/SpecForge configs/deepseek-v3-671b-eagle3.json"},
      {"Qwen/Qwen3-8B", HeadKind::dflash, 5, 4096, 32, 8, 128, 12288, 0.001,
       "sgl-project/SpecForge configs/qwen3-8b-dflash.json"},
  };
  for (const Config& c : cases) {
    const int64_t h = c.hidden, q = c.heads * c.head_dim, kv = c.kv_heads * c.head_dim;
    // EAGLE-3 reads embedding and state side by side and listens to three layers of the target.
    const bool eagle = c.kind == HeadKind::eagle3;
    const int64_t layer = (eagle ? 2 : 1) * h * (q + 2 * kv) + q * h + 3 * h * c.ffn;
    const int64_t fusion = (eagle ? 3 : 5) * h * h;
    const int64_t head = eagle ? 32000 * h : 0;
    const Bytes counted(2 * (c.layers * layer + fusion + head));
    const HeadEstimate estimate = estimate_head(c.kind, of_catalog(c.target), 1);
    EXPECT_NEAR(double(estimate.weights.likely.count()) / double(counted.count()), 1, c.part)
        << c.source;
    EXPECT_LE(estimate.weights.low, counted) << c.source;
    EXPECT_GE(estimate.weights.high, counted) << c.source;
    EXPECT_EQ(estimate.cache_layers, c.layers) << c.source;
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
