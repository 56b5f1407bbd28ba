// Language models inside multimodal configs: what is read from where, and what is refused.
#include "model/wrapped.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "json/parse.h"
#include "model/from_config.h"

namespace vramwise::model {
namespace {

Result<Model> build(std::string_view text) {
  auto value = json::parse(text, "config.json");
  if (!value) return fail(value.error());
  return from_config(json::Reader(*value, "config.json"), "test");
}

const Tensor* find(const Model& model, std::string_view name) {
  const auto at = std::find_if(model.tensors.begin(), model.tensors.end(),
                               [&](const Tensor& tensor) { return tensor.name == name; });
  return at == model.tensors.end() ? nullptr : &*at;
}

int64_t elements(const Model& model, Part part) {
  int64_t sum = 0;
  for (const Tensor& tensor : model.tensors) {
    if (tensor.part == part) sum += tensor.elements();
  }
  return sum;
}

constexpr std::string_view kSmolVlm = R"({"model_type": "smolvlm", "scale_factor": 2,
  "text_config": {"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1,
                  "num_attention_heads": 2, "vocab_size": 10},
  "vision_config": {"hidden_size": 4, "intermediate_size": 6, "num_hidden_layers": 2,
                    "image_size": 8, "patch_size": 4}})";

TEST(Wrapped, NamesAndCountsOfATinyOne) {
  const auto model = build(kSmolVlm);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->model_type, "smolvlm");
  EXPECT_NE(find(*model, "model.text_model.layers.0.self_attn.q_proj.weight"), nullptr);
  EXPECT_NE(find(*model, "lm_head.weight"), nullptr);  // idefics is not tied unless it says so
  const Tensor* merged = find(*model, "model.connector.modality_projection.proj.weight");
  ASSERT_NE(merged, nullptr);
  EXPECT_EQ(merged->shape, Shape({8, 16}));
  // 2 layers of 4 matrices 4x4 with bias, 2 norms and an MLP of 6; patches, 4 positions, a norm.
  EXPECT_EQ(elements(*model, Part::vision), 2 * (4 * 20 + 16 + 2 * 24 + 10) + 3 * 64 + 4 + 16 + 8);
}

TEST(Wrapped, TheOuterTieDecides) {
  std::string text(kSmolVlm);
  text.insert(1, R"("tie_word_embeddings": true, )");
  const auto tied = build(text);
  ASSERT_TRUE(tied) << tied.error().message;
  EXPECT_TRUE(tied->tied_head);
  EXPECT_FALSE(build(kSmolVlm)->tied_head);
}

TEST(Wrapped, AMissingTowerIsNamed) {
  const auto model = build(R"({"model_type": "paligemma", "text_config": {"model_type": "gemma",
    "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
    "vocab_size": 10}})");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::missing_field);
  EXPECT_TRUE(contains(model.error().message, "vision_config")) << model.error().message;
}

TEST(Wrapped, AnUnknownLanguageModelIsNamed) {
  const auto model = build(R"({"model_type": "llava_onevision",
    "text_config": {"model_type": "no_such_family"}, "vision_config": {}})");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::unsupported);
  EXPECT_TRUE(contains(model.error().message, "no_such_family")) << model.error().message;
}

// The version says which family stands at the top of the config.
TEST(Wrapped, MiniCpmByVersion) {
  const std::string keys = R"("hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 10, "query_num": 4})";
  const auto v26 = build(R"({"model_type": "minicpmv", "version": 2.6, )" + keys);
  ASSERT_TRUE(v26) << v26.error().message;
  EXPECT_NE(find(*v26, "llm.model.layers.0.self_attn.q_proj.bias"), nullptr);  // Qwen 2
  const auto v45 = build(R"({"model_type": "minicpmv", "version": "4.5", )" + keys);
  ASSERT_TRUE(v45) << v45.error().message;
  EXPECT_NE(find(*v45, "llm.model.layers.0.self_attn.q_norm.weight"), nullptr);  // Qwen 3
  EXPECT_EQ(find(*v45, "apm.conv1.weight"), nullptr);
  const auto o26 = build(R"({"model_type": "minicpmo", "version": "2.6", )" + keys);
  ASSERT_TRUE(o26) << o26.error().message;
  EXPECT_GT(elements(*o26, Part::audio), 300'000'000);  // Whisper medium's encoder
  const auto v20 = build(R"({"model_type": "minicpmv", "version": "2.0", )" + keys);
  ASSERT_FALSE(v20);
  EXPECT_EQ(v20.error().code, ErrorCode::unsupported);
}

// What lies in the file and no engine loads is stored, not counted.
TEST(Wrapped, PaddleOcrKeepsWhatNobodyReads) {
  const auto model = build(R"({"model_type": "paddleocr_vl", "tie_word_embeddings": false,
    "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 4, "vocab_size": 10,
    "vision_config": {"hidden_size": 4, "intermediate_size": 6, "num_hidden_layers": 1,
                      "image_size": 28, "patch_size": 14}})");
  ASSERT_TRUE(model) << model.error().message;
  // Probe, four matrices 4x4 with bias, a norm, an MLP of 6; and the table of packed positions.
  EXPECT_EQ(elements(*model, Part::stored_unused), 4 + 80 + 8 + 58 + 32768 * 4);
}

TEST(Wrapped, AnOmniModelIsItsThinker) {
  const auto model = build(R"({"model_type": "qwen3_omni_moe", "talker_config": {"hidden_size": 9},
    "thinker_config": {"text_config": {"model_type": "qwen3_omni_moe_text", "hidden_size": 8,
      "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4,
      "vocab_size": 10, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 6},
    "audio_config": {"d_model": 4, "encoder_ffn_dim": 6, "encoder_layers": 1, "num_mel_bins": 16,
                     "downsample_hidden_size": 2, "output_dim": 8},
    "vision_config": {"hidden_size": 4, "intermediate_size": 6, "depth": 1, "patch_size": 2,
                      "num_position_embeddings": 9, "out_hidden_size": 8}}})");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->model_type, "qwen3_omni_moe");
  EXPECT_EQ(model->layers.size(), 1u);
  // Three convolutions of 2 channels, 4 matrices with bias, an MLP, three norms, conv_out over
  // 2 x 2 bins, proj1 and proj2.
  EXPECT_EQ(elements(*model, Part::audio),
            20 + 38 + 38 + 16 + (4 * 20 + 24 + 6 + 24 + 4 + 2 * 8) + 8 + 20 + 40);
  EXPECT_NE(find(*model, "thinker.visual.merger.linear_fc2.weight"), nullptr);
}

}  // namespace
}  // namespace vramwise::model
