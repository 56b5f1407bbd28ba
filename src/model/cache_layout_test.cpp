#include "model/cache_layout.h"

#include <gtest/gtest.h>

namespace vramwise::model {
namespace {

struct Row {
  const char* what;
  CacheLayout layout;
  int64_t at_1000, at_100000, fixed, window;
  bool recurrent;
};

TEST(CacheLayout, Bytes) {
  const Row rows[] = {
      {"keys and values of 8 heads", FullAttention{8, 128, 128}, 4096 * 1000, 4096 * 100000, 0, 0,
       false},
      {"keys wider than values", FullAttention{4, 192, 128}, 2560 * 1000, 2560 * 100000, 0, 0,
       false},
      {"a window caps", SlidingWindow{8, 128, 128, 4096}, 4096 * 1000, 4096 * 4096, 0, 4096 * 4096,
       false},
      {"a chunk caps", ChunkedLocal{8, 128, 128, 8192}, 4096 * 1000, 4096 * 8192, 0, 4096 * 8192,
       false},
      {"latent, whatever the heads", LatentAttention{512, 64}, 1152 * 1000, 1152 * 100000, 0, 0,
       false},
      {"index keys", IndexerKeys{128}, 256 * 1000, 256 * 100000, 0, 0, false},
      {"pooled index keys", IndexerKeys{128, 4}, 256 * 250, 256 * 25000, 0, 0, false},
      // DeepSeek V4: unfinished blocks count down, the buffers are fp32.
      {"compressed", CompressedAttention{512, 128, 1000}, 1024 * 7 + 4000, 1024 * 781 + 4000, 4000,
       0, false},
      {"one vector as key and value", SharedKeyWindow{512, 128}, 1024 * 128, 1024 * 128, 0,
       1024 * 128, false},
      // Mamba 1.4B: 2 bytes for 3 columns, 4 for the state.
      {"mamba", Mamba1State{4096, 16, 4, std::nullopt}, 286720, 286720, 286720, 0, true},
      {"mamba 2", Mamba2State{80, 64, 1, 128, 4, std::nullopt}, 2653696, 2653696, 2653696, 0, true},
      {"mamba 2 in bf16", Mamba2State{80, 64, 1, 128, 4, DType::bfloat16}, 1342976, 1342976,
       1342976, 0, true},
      {"gated delta", GatedDeltaState{16, 32, 128, 128, 4, std::nullopt}, 2146304, 2146304, 2146304,
       0, true},
      {"kimi delta", KimiDeltaState{32, 128, 4}, 2170880, 2170880, 2170880, 0, true},
      {"lightning", LightningState{64, 128}, 4194304, 4194304, 4194304, 0, true},
      {"short convolution", ShortConvState{2048, 3}, 8192, 8192, 8192, 0, true},
      {"rwkv", RwkvState{2560, 40, 64, 2}, 665600, 665600, 665600, 0, true},
      {"cross", CrossAttention{6, 64, 1500}, 2304000, 2304000, 2304000, 0, false},
      {"shared", SharedCache{3}, 0, 0, 0, 0, false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    EXPECT_EQ(bytes_at(row.layout, Tokens(1000), {}).count(), row.at_1000);
    EXPECT_EQ(bytes_at(row.layout, Tokens(100000), {}).count(), row.at_100000);
    EXPECT_EQ(fixed_bytes(row.layout, {}).count(), row.fixed);
    EXPECT_EQ(window_bytes(row.layout, {}).count(), row.window);
    EXPECT_EQ(is_recurrent(row.layout), row.recurrent);
    EXPECT_NE(describe(row.layout), "");
    EXPECT_EQ(bytes_at(row.layout, Tokens(-5), {}).count(), row.fixed);
  }
}

TEST(CacheLayout, HugeNumbersSaturate) {
  const FullAttention huge{kInt64Max, kInt64Max, kInt64Max};
  EXPECT_EQ(bytes_at(huge, Tokens(kInt64Max), {}).count(), kInt64Max);
}

}  // namespace
}  // namespace vramwise::model
