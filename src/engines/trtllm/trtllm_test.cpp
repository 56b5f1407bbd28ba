#include <gtest/gtest.h>

#include "support/questions.h"

namespace vramwise::engines {
namespace {

// tensorrt_llm/_torch/pyexecutor/_util.py: cache = fraction x (total - peak + trial cache).
TEST(TrtllmEngine, CacheIsAFractionOfWhatIsLeft) {
  const testing::Asked asked = testing::ask(
      {.config = testing::kDeepSeekV3,
       .gpu = "b200",
       .count = 8,
       .version = "1.3.0rc10",
       .options =
           R"({"tensor_parallel_size":8,"kv_cache_dtype":"fp8","free_gpu_memory_fraction":0.8,"max_seq_len":8192})"});
  const Assessment a = testing::assess("trtllm", asked);
  EXPECT_EQ(a.kv.bytes_per_token.count(), 35136);  // 61 layers x 576, on every rank
  double peak = 0;
  for (const LogLine& line : a.log) {
    if (line.line.find("Peak memory") == 0) peak = line.value;
  }
  // The printed peak holds the trial cache of 65,536 tokens.
  const double expected =
      0.8 * (double(asked.hardware.devices[0].total.count()) - peak + 65536.0 * 35136);
  EXPECT_NEAR(double(a.kv.available.likely.count()), expected, 2.0);
  EXPECT_EQ(a.kv.pool_tokens % 32, 0);
}

TEST(TrtllmEngine, ShortensInsteadOfRefusing) {
  const Assessment a =
      testing::assess("trtllm", testing::ask({.config = testing::kLlama8b,
                                              .gpu = "rtx-4090",
                                              .options = R"({"max_seq_len":131072})"}));
  EXPECT_TRUE(a.refusals.empty());
  bool warned = false;
  for (const Note& n : a.notes.warnings) warned = warned || n.id == "length_reduced";
  EXPECT_TRUE(warned);
}

}  // namespace
}  // namespace vramwise::engines
