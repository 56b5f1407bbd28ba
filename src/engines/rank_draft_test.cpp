// Drafters of the engines on PyTorch: weights in the weights, layers in the pool.
#include <gtest/gtest.h>

#include "support/questions.h"

namespace vramwise::engines {
namespace {

using testing::Asked;

constexpr const char* kSmall = R"({"architectures":["LlamaForCausalLM"],"model_type":"llama",
  "num_hidden_layers":16,"hidden_size":2048,"intermediate_size":8192,"num_attention_heads":32,
  "num_key_value_heads":8,"head_dim":64,"vocab_size":128256,"tie_word_embeddings":true,
  "max_position_embeddings":131072,"torch_dtype":"bfloat16"})";
// K and V of 8 heads of 64 values in 16 bits, 16 layers; and of 128 values in 32.
constexpr int64_t kSmallPerToken = 2 * 2 * 8 * 64 * 16;
constexpr int64_t kTargetPerToken = 2 * 2 * 8 * 128 * 32;

Asked with_draft(std::string_view options) {
  Asked asked = testing::ask({.config = testing::kLlama8b, .options = options});
  const Asked draft = testing::ask({.config = kSmall});
  asked.draft_model = draft.model;
  asked.draft_weights = draft.weights;
  return asked;
}

Bytes drafter(const Assessment& a) {
  Bytes sum;
  for (const LedgerRow& r : a.reserve.rows) {
    if (r.device == 0 && r.item == "drafter") sum += r.bytes.likely;
  }
  return sum;
}

TEST(RankDraft, VllmCountsWeightsAndEveryLayer) {
  const Asked asked = with_draft(
      R"({"max_model_len":8192,"speculative_config":{"model":"x/y","num_speculative_tokens":5}})");
  const Assessment a = testing::assess("vllm", asked);
  EXPECT_EQ(a.kv.bytes_per_token.count(), kTargetPerToken + kSmallPerToken);
  // 16 bits a parameter, and a little for tables.
  const Bytes plain(2 * model::parameter_count(*asked.draft_model));
  EXPECT_GE(drafter(a), plain);
  EXPECT_LE(drafter(a), plain + MiB(64));
}

TEST(RankDraft, VllmEstimatesHeads) {
  const Assessment a = testing::assess(
      "vllm", testing::ask({.config = testing::kLlama8b,
                            .options = R"({"max_model_len":8192,"speculative_config":
                              {"method":"eagle3","model":"x/y","num_speculative_tokens":3}})"}));
  EXPECT_EQ(a.kv.bytes_per_token.count(), kTargetPerToken / 32 * 33);
  EXPECT_NEAR(double(drafter(a).count()) / 1e9, 0.85, 0.02);
}

TEST(RankDraft, AnUnknownModelIsSaidNotGuessed) {
  const Assessment a = testing::assess(
      "vllm", testing::ask({.config = testing::kLlama8b,
                            .options = R"({"max_model_len":8192,"speculative_config":
                              {"model":"x/y","num_speculative_tokens":3}})"}));
  EXPECT_EQ(drafter(a).count(), 0);
  bool warned = false;
  for (const Note& n : a.notes.warnings) warned |= n.id == "drafter_unknown";
  EXPECT_TRUE(warned);
}

TEST(RankDraft, SglangSizesThePoolByTheTargetsLayers) {
  const Assessment a =
      testing::assess("sglang", with_draft(R"({"speculative_algorithm":"STANDALONE",
        "speculative_draft_model_path":"x/y","context_length":8192})"));
  EXPECT_EQ(a.kv.bytes_per_token.count(), kTargetPerToken / 32 * (32 + 16));
  EXPECT_GT(drafter(a), GiB(2));
}

TEST(RankDraft, SglangLookUpHoldsNothing) {
  const Assessment a =
      testing::assess("sglang", testing::ask({.config = testing::kLlama8b,
                                              .options = R"({"speculative_algorithm":"NGRAM"})"}));
  EXPECT_EQ(a.kv.bytes_per_token.count(), kTargetPerToken);
  EXPECT_EQ(drafter(a).count(), 0);
}

TEST(RankDraft, TensorRtAddsTheDraftersCache) {
  const Assessment a =
      testing::assess("trtllm", with_draft(R"({"max_seq_len":8192,"speculative_config":
        {"decoding_type":"Draft_Target","speculative_model":"x/y","max_draft_len":4}})"));
  EXPECT_EQ(a.kv.bytes_per_token.count(), kTargetPerToken + kSmallPerToken);
  EXPECT_GT(drafter(a), GiB(2));
}

}  // namespace
}  // namespace vramwise::engines
