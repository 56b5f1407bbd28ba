#include "engines/llamacpp/caches.h"

#include <gtest/gtest.h>

#include <numeric>

namespace vramwise::engines::llamacpp {
namespace {

using weights::GgmlType;

int64_t total(const Shape& shape, const ContextSettings& settings) {
  const ContextSize size = context_size(shape, settings, Rules());
  int64_t sum = 0;
  for (const LayerCache& c : layer_caches(shape, settings, size)) sum += c.total();
  return sum;
}

// Layers of 8 KV heads of 128 values; every `period`-th is full, the others slide when asked to.
Shape attention_shape(int32_t layers, int64_t window = 0, int32_t period = 1) {
  Shape shape;
  shape.architecture = "llama";
  shape.hidden = 4096;
  shape.vocab = 128256;
  shape.train_ctx = 131072;
  shape.trunk_layers = layers;
  shape.window = window;
  for (int32_t i = 0; i < layers; ++i) {
    LayerShape l;
    l.heads = 32;
    l.kv_heads = 8;
    l.key_dim = l.value_dim = 128;
    l.cache_of = i;
    l.sliding = window > 0 && i % period < period - 1;
    shape.layers.push_back(l);
  }
  return shape;
}

TEST(ContextSize, SlotsGetEqualPiecesInStepsOf256) {
  ContextSettings s;
  s.n_ctx = 1000;
  s.sequences = 3;
  const ContextSize size = context_size(attention_shape(1), s, Rules());
  EXPECT_EQ(size.cells, 512);  // 1024 / 3 = 341, rounded up
  EXPECT_EQ(size.n_ctx, 1536);
  EXPECT_EQ(size.n_batch, 1000);
  EXPECT_EQ(size.n_ubatch, 512);
  EXPECT_EQ(size.tokens, 513);  // a multiple of the slots
}

TEST(ContextSize, WindowsCountForEachSlotOnlyWhenShared) {
  ContextSettings s;
  s.n_ctx = 32768;
  s.sequences = 4;
  s.unified = true;
  const Shape shape = attention_shape(2, 1024, 2);
  EXPECT_EQ(context_size(shape, s, Rules()).sliding_cells, 4 * 1024 + 512);
  s.unified = false;
  EXPECT_EQ(context_size(shape, s, Rules()).sliding_cells, 1024 + 512);
  s.swa_full = true;
  EXPECT_EQ(context_size(shape, s, Rules()).sliding_cells, 8192);
}

TEST(ContextSize, OlderBuildsPadOtherwise) {
  ContextSettings s;
  s.n_ctx = 70000;
  s.flash = false;
  Rules rules;
  rules.cell_padding_plain = 32;
  EXPECT_EQ(context_size(attention_shape(1), s, rules).cells, 70016);
  rules.cell_padding_plain = 1;
  EXPECT_EQ(context_size(attention_shape(1), s, rules).cells, 70000);
}

TEST(Caches, BytesOfEveryCacheType) {
  ContextSettings s;
  s.n_ctx = 4096;
  const Shape shape = attention_shape(1);
  const int64_t values = 2 * 4096 * 8 * 128;
  struct Case {
    GgmlType type;
    int64_t bytes_for_32;
  };
  for (const Case& c :
       {Case{GgmlType::F32, 128}, Case{GgmlType::F16, 64}, Case{GgmlType::BF16, 64},
        Case{GgmlType::Q8_0, 34}, Case{GgmlType::Q5_1, 24}, Case{GgmlType::Q5_0, 22},
        Case{GgmlType::Q4_1, 20}, Case{GgmlType::Q4_0, 18}, Case{GgmlType::IQ4_NL, 18}}) {
    s.type_k = s.type_v = c.type;
    EXPECT_EQ(total(shape, s), values / 32 * c.bytes_for_32);
  }
}

TEST(Caches, WithoutFlashAttentionEveryLayerStoresTheWidestValues) {
  Shape shape = attention_shape(2);
  shape.layers[1].key_dim = shape.layers[1].value_dim = 256;
  ContextSettings s;
  s.n_ctx = 256;
  EXPECT_EQ(total(shape, s), 256 * 2 * (2 * 1024 + 2 * 2048));
  s.flash = false;
  EXPECT_EQ(total(shape, s), 256 * 2 * (1024 + 2048 + 2 * 2048));
}

TEST(Caches, LayersThatShareACacheOwnNone) {
  Shape shape = attention_shape(4);
  shape.layers[2].cache_of = shape.layers[3].cache_of = 1;
  ContextSettings s;
  s.n_ctx = 1024;
  EXPECT_EQ(total(shape, s), 2 * 1024 * 2 * 2048);
}

TEST(Caches, StatesCountSlotsAndSnapshotsNotTokens) {
  Shape shape;
  shape.architecture = "qwen35";
  shape.hidden = 2048;
  shape.train_ctx = 262144;
  shape.trunk_layers = 1;
  shape.ssm = {4, 4096, 128, 32, 16};
  shape.keeps_rollback = true;
  LayerShape l;
  l.mixer = MixerKind::delta;
  shape.layers.push_back(l);
  ContextSettings s;
  s.n_ctx = 8192;
  const int64_t floats = 3 * (4096 + 2 * 16 * 128) + 128 * 4096;
  EXPECT_EQ(total(shape, s), 4 * floats);
  s.sequences = 4;
  s.rollback = 2;
  EXPECT_EQ(total(shape, s), 4 * floats * 4 * 3);
}

TEST(Caches, LatentAttentionKeepsOneVector) {
  Shape shape;
  shape.architecture = "deepseek2";
  shape.trunk_layers = 1;
  shape.train_ctx = 163840;
  shape.latent = {1536, 512, 128, 64, 128, true};
  LayerShape l;
  l.mixer = MixerKind::latent;
  l.heads = 128;
  l.kv_heads = 1;
  l.key_dim = 576;
  l.value_dim = 512;
  l.cache_of = 0;
  shape.layers.push_back(l);
  ContextSettings s;
  s.n_ctx = 1024;
  EXPECT_EQ(total(shape, s), 1024 * 1152);
  s.type_k = s.type_v = GgmlType::Q8_0;
  EXPECT_EQ(total(shape, s), 1024 * 612);
  s.type_v = GgmlType::F16;
  EXPECT_FALSE(cache_refusal(shape, s).explanation.empty());
}

TEST(Caches, RefusalsInTheProgramsWords) {
  Shape shape = attention_shape(1);
  ContextSettings s;
  s.n_ctx = 4096;
  s.type_v = GgmlType::Q8_0;
  EXPECT_TRUE(cache_refusal(shape, s).explanation.empty());
  s.flash = false;
  EXPECT_EQ(cache_refusal(shape, s).engine_error,
            "llama_init_from_model: quantized V cache requires flash_attn to be enabled");
  s.flash = true;
  s.type_k = GgmlType::Q8_0;
  shape.layers[0].key_dim = shape.layers[0].value_dim = 80;
  EXPECT_EQ(cache_refusal(shape, s).engine_error,
            "llama_init_from_model: K cache type q8_0 with block size 32 does not divide "
            "n_embd_head_k=80");
}

}  // namespace
}  // namespace vramwise::engines::llamacpp
