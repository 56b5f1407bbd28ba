#include "model/from_gguf.h"

#include <gtest/gtest.h>

#include "formats/gguf/reader.h"
#include "support/gguf_writer.h"

namespace vramwise::model {
namespace {

using testing::GgufWriter;

GgufWriter start(const std::string& architecture, uint32_t layers) {
  GgufWriter file;
  file.text("general.architecture", architecture)
      .u32(architecture + ".block_count", layers)
      .u32(architecture + ".embedding_length", 256)
      .u32(architecture + ".context_length", 4096)
      .u32(architecture + ".attention.head_count", 8);
  return file;
}

void add_attention(GgufWriter& file, int layer, int64_t kv_width) {
  const std::string name = "blk." + std::to_string(layer) + ".";
  file.tensor(name + "attn_norm.weight", {256}, "F32")
      .tensor(name + "attn_q.weight", {256, 256}, "F16")
      .tensor(name + "attn_k.weight", {256, kv_width}, "F16")
      .tensor(name + "attn_v.weight", {256, kv_width}, "F16")
      .tensor(name + "attn_output.weight", {256, 256}, "F16");
}

Result<Model> read(const GgufWriter& file) {
  const std::string bytes = file.whole();
  formats::MemorySource source(bytes, "x.gguf");
  const auto header = formats::read_gguf(source);
  if (!header) return fail(header.error());
  return from_gguf(*header, "x");
}

TEST(FromGguf, WidthsComeFromTheTensors) {
  GgufWriter file = start("llama", 2);
  file.u32("llama.attention.head_count_kv", 2);
  add_attention(file, 0, 64);
  add_attention(file, 1, 64);
  const auto model = read(file);
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->layers.size(), 2U);
  EXPECT_EQ(model->layers[0].caches[0], CacheLayout(FullAttention{2, 32, 32}));
  EXPECT_TRUE(model->notes.warnings.empty());
}

TEST(FromGguf, WindowsOfAnArchitectureAndOfAPattern) {
  GgufWriter file = start("gemma3", 6);
  file.u32("gemma3.attention.head_count_kv", 2).u32("gemma3.attention.sliding_window", 512);
  for (int i = 0; i < 6; ++i) add_attention(file, i, 64);
  auto model = read(file);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->layers[4].caches[0], CacheLayout(SlidingWindow{2, 32, 32, 512}));
  EXPECT_EQ(model->layers[5].caches[0], CacheLayout(FullAttention{2, 32, 32}));
  file.booleans("gemma3.attention.sliding_window_pattern", {false, true, true, true, true, true});
  model = read(file);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->layers[0].caches[0], CacheLayout(FullAttention{2, 32, 32}));
  EXPECT_EQ(model->layers[5].caches[0], CacheLayout(SlidingWindow{2, 32, 32, 512}));
  // The key means nothing to these.
  GgufWriter phi = start("phi3", 1);
  phi.u32("phi3.attention.sliding_window", 512);
  add_attention(phi, 0, 256);
  EXPECT_EQ(read(phi)->layers[0].caches[0], CacheLayout(FullAttention{8, 32, 32}));
}

TEST(FromGguf, LatentAttentionInBothForms) {
  GgufWriter file = start("deepseek2", 2);
  file.u32("deepseek2.attention.kv_lora_rank", 64)
      .u32("deepseek2.rope.dimension_count", 16)
      .u32("deepseek2.attention.key_length", 48)
      .u32("deepseek2.attention.value_length", 32)
      .tensor("blk.0.attn_kv_a_mqa.weight", {256, 80}, "F16")
      .tensor("blk.0.attn_k_b.weight", {32, 64, 8}, "F16")
      .tensor("blk.0.attn_v_b.weight", {64, 32, 8}, "F16")
      .tensor("blk.1.attn_kv_a_mqa.weight", {256, 80}, "F16")
      .tensor("blk.1.attn_kv_b.weight", {64, 512}, "F16");
  const auto model = read(file);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->layers[0].caches[0], CacheLayout(LatentAttention{64, 16}));
  EXPECT_EQ(model->layers[1].caches[0], CacheLayout(FullAttention{8, 48, 32}));
}

TEST(FromGguf, RecurrentLayers) {
  GgufWriter file = start("qwen3next", 2);
  file.integers("qwen3next.attention.head_count_kv", {0, 2})
      .u32("qwen3next.ssm.conv_kernel", 4)
      .u32("qwen3next.ssm.inner_size", 512)
      .u32("qwen3next.ssm.state_size", 64)
      .u32("qwen3next.ssm.time_step_rank", 8)
      .u32("qwen3next.ssm.group_count", 4)
      .tensor("blk.0.ssm_conv1d.weight", {4, 1024}, "F32")
      .tensor("blk.0.ssm_ba.weight", {256, 16}, "F16");
  add_attention(file, 1, 64);
  const auto model = read(file);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->layers[0].caches[0],
            CacheLayout(GatedDeltaState{4, 8, 64, 64, 4, std::nullopt}));
  EXPECT_EQ(model->layers[1].caches.size(), 1U);
}

TEST(FromGguf, SharedCachesAndMtpLayers) {
  GgufWriter file = start("gemma4", 5);
  file.u32("gemma4.attention.head_count_kv", 2)
      .u32("gemma4.attention.sliding_window", 128)
      .u32("gemma4.attention.shared_kv_layers", 2)
      .u32("gemma4.nextn_predict_layers", 1)
      .booleans("gemma4.attention.sliding_window_pattern", {true, false, true, false, false});
  for (int i = 0; i < 5; ++i) add_attention(file, i, 64);
  const auto model = read(file);
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->layers.size(), 4U);
  EXPECT_EQ(model->mtp_layers.size(), 1U);
  EXPECT_EQ(model->layers[2].caches[0], CacheLayout(SharedCache{0}));
  EXPECT_EQ(model->layers[3].caches[0], CacheLayout(SharedCache{1}));
  EXPECT_GT(mtp_parameter_count(*model), 0);
}

TEST(FromGguf, Experts) {
  GgufWriter file = start("qwen3moe", 1);
  file.u32("qwen3moe.expert_count", 16)
      .u32("qwen3moe.expert_used_count", 4)
      .tensor("blk.0.ffn_gate_inp.weight", {256, 16}, "F32")
      .tensor("blk.0.ffn_gate_exps.weight", {256, 64, 16}, "F16")
      .tensor("blk.0.ffn_up_exps.weight", {256, 64, 16}, "F16")
      .tensor("blk.0.ffn_down_exps.weight", {64, 256, 16}, "F16");
  add_attention(file, 0, 64);
  const auto model = read(file);
  ASSERT_TRUE(model) << model.error().message;
  const auto* moe = std::get_if<MoeFeedForward>(&model->layers[0].feed_forward);
  ASSERT_NE(moe, nullptr);
  EXPECT_EQ(moe->experts, 16);
  EXPECT_EQ(moe->width, 64);
  EXPECT_EQ(parameter_count(*model) - active_parameter_count(*model), 3 * 256 * 64 * 12);
}

TEST(FromGguf, Refusals) {
  GgufWriter many = start("llama", 513);
  EXPECT_EQ(read(many).error().code, ErrorCode::too_large);
  GgufWriter experts = start("llama", 1);
  experts.u32("llama.expert_count", 1025);
  EXPECT_EQ(read(experts).error().code, ErrorCode::too_large);
  GgufWriter used = start("llama", 1);
  used.u32("llama.expert_count", 4).u32("llama.expert_used_count", 5);
  EXPECT_EQ(read(used).error().code, ErrorCode::inconsistent);
  GgufWriter no_width;
  no_width.text("general.architecture", "llama").u32("llama.block_count", 1);
  EXPECT_EQ(read(no_width).error().code, ErrorCode::missing_field);
}

TEST(FromGguf, WhatIsNoModelAndWhatIsNotKnown) {
  GgufWriter projector;
  projector.text("general.architecture", "clip").text("general.type", "mmproj");
  projector.tensor("v.blk.0.attn_q.weight", {64, 64}, "F16");
  const auto tower = read(projector);
  ASSERT_TRUE(tower);
  EXPECT_TRUE(tower->layers.empty());
  EXPECT_EQ(parameter_count(*tower), 64 * 64);
  GgufWriter unknown = start("zorro", 1);
  unknown.u32("zorro.attention.head_count_kv", 2);
  add_attention(unknown, 0, 64);
  const auto model = read(unknown);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->layers[0].caches[0], CacheLayout(FullAttention{2, 32, 32}));
  ASSERT_FALSE(model->notes.warnings.empty());
  EXPECT_EQ(model->notes.warnings[0].id, "gguf_architecture_unknown");
}

}  // namespace
}  // namespace vramwise::model
