// What SGLang's pools are sized by: rows of several tokens, shared layers, states, vision towers.
#include <gtest/gtest.h>

#include <string>

#include "engines/sglang/pools.h"
#include "support/questions.h"
#include "support/sglang_plan.h"

namespace vramwise::engines::sglang {
namespace {

double bytes_per_full_token(const Cells& cells, double ratio) {
  return double(cells.full) + double(cells.full_rest_128) / 128 + ratio * double(cells.window);
}

// "DSv4 memory calculation: bytes_per_full_token=15955.85" of May 2026 (a Flash-Base server on
// 8 cards of 96 GB) and 7705.45 of August 2026, where the states of long blocks have left the rows.
TEST(SglangPools, DeepSeekV4BytesPerFullToken) {
  const std::string config = testing::deepseek_v4_flash();
  const auto cells = [&](std::string_view version) {
    return planned(
               testing::ask({.config = config, .gpu = "h200-sxm", .count = 8, .version = version}))
        .cells;
  };
  EXPECT_NEAR(bytes_per_full_token(cells("0.5.12"), 0.1), 15955.85, 0.005);
  EXPECT_NEAR(bytes_per_full_token(cells("0.5.15"), 0.1), 7705.45, 0.005);
  EXPECT_EQ(cells("0.5.12").block_states, 0);
  EXPECT_EQ(cells("0.5.15").block_states, 20 * 128 * 2 * 512 * 4);
}

TEST(SglangPools, DeepSeekV4Defaults) {
  const std::string config = testing::deepseek_v4_flash();
  const RankPlan r = planned(testing::ask({.config = config, .gpu = "h200-sxm", .count = 8}));
  EXPECT_EQ(r.tokens % 256, 0);
  EXPECT_EQ(r.window_tokens, int64_t(double(r.tokens) * 0.1) / 256 * 256);
  EXPECT_EQ(r.max_running, 256);
}

// sglang mem_cache/kv_cache_configurator.py, _handle_max_mamba_cache.
TEST(SglangPools, StateSlots) {
  const auto with = [](std::string_view options) {
    return planned(testing::ask(
        {.config = testing::kQwen122bA10b, .gpu = "b300", .count = 2, .options = options}));
  };
  const RankPlan fixed = with(R"({"tp_size":2,"max_mamba_cache_size":64})");
  EXPECT_EQ(fixed.state_slots, 64);
  EXPECT_EQ(fixed.tokens,
            (fixed.budget.likely.count() - 64 * fixed.cells.state) / fixed.cells.full);
  const RankPlan plain =
      with(R"({"tp_size":2,"disable_radix_cache":true,"max_running_requests":8})");
  EXPECT_EQ(plain.state_slots, 8);
  EXPECT_EQ(plain.max_running, 8);
  const RankPlan shared = with(R"({"tp_size":2})");
  EXPECT_EQ(shared.state_slots,
            int64_t(double(shared.budget.likely.count()) * 0.9 / 1.9) / shared.cells.state);
}

// Layers that read the keys of an earlier one have a pool of their own all the same: 997,846 tokens
// and 798,276 of windows take 79.94 GB in gemma-4-E4B-it, as 7 full layers x 4,096 B and 35 window
// layers x 2,048 B do.
TEST(SglangPools, SharedLayersAreStored) {
  constexpr const char* kShared = R"({"model_type":"gemma4_text","hidden_size":64,
    "intermediate_size":64,"num_hidden_layers":12,"num_attention_heads":4,"num_key_value_heads":2,
    "vocab_size":100,"head_dim":16,"global_head_dim":32,"num_kv_shared_layers":6,
    "sliding_window":512,"hidden_size_per_layer_input":4,"max_position_embeddings":8192,
    "torch_dtype":"bfloat16"})";
  const Cells cells = planned(testing::ask({.config = kShared})).cells;
  EXPECT_EQ(cells.full, 2 * 2 * (32 + 32) * 2);
  EXPECT_EQ(cells.window, 10 * 2 * (16 + 16) * 2);
}

// Printed for Qwen2.5-VL-7B on a B200 with pieces of 4,096 tokens captured: 0.7629746875, which is
// 0.851 x 0.95 x (1 - (1280^2 / 1024^2 - 1) / 10): the config does not say num_hidden_layers
// (sgl-project/sglang#11830).
TEST(SglangPools, FractionBesideAVisionTower) {
  constexpr const char* kVision = R"({"architectures":["Qwen2_5_VLForConditionalGeneration"],
    "model_type":"qwen2_5_vl","hidden_size":3584,"intermediate_size":18944,"num_hidden_layers":28,
    "num_attention_heads":28,"num_key_value_heads":4,"vocab_size":152064,
    "max_position_embeddings":128000,"torch_dtype":"bfloat16","vision_config":{"depth":32,
    "hidden_size":1280,"intermediate_size":3420,"num_heads":16,"in_chans":3,"out_hidden_size":3584,
    "patch_size":14,"spatial_merge_size":2,"temporal_patch_size":2}})";
  const auto fraction = [&](std::string_view version, std::string_view options) {
    return planned(testing::ask({.config = kVision,
                                 .gpu = "b200",
                                 .total = MiB(183359) * 1000 / 1005,
                                 .version = version,
                                 .options = options}))
        .fraction;
  };
  EXPECT_NEAR(fraction("0.5.5", R"({"enable_piecewise_cuda_graph":true})"), 0.7629746875, 1e-9);
  EXPECT_NEAR(fraction("0.5.5", "{}"), 0.857 * 0.95 * 0.94375, 1e-9);
  EXPECT_NEAR(fraction("0.5.5", R"({"enable_multimodal":false})"), 0.857, 1e-9);
}

}  // namespace
}  // namespace vramwise::engines::sglang
