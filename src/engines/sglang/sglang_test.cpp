// Worked examples of SGLang's pools: sglang server_args.py, model_executor/pool_configurator.py.
#include <gtest/gtest.h>

#include "engines/sglang/pools.h"
#include "support/questions.h"

namespace vramwise::engines::sglang {
namespace {

RankPlan planned(const testing::Asked& asked) {
  Notes notes;
  const auto setup = read_setup(asked.question(), notes);
  EXPECT_TRUE(setup) << (setup ? "" : setup.error().message);
  return plan_rank(asked.question(), *setup, asked.hardware.devices[0], notes);
}

TEST(SglangPools, DefaultFractionOfAnH100) {
  const Bytes total = MiB(81559) * 1000 / 1005;  // what CUDA sees where nvidia-smi says 81,559 MiB
  EXPECT_DOUBLE_EQ(planned(testing::ask({.config = testing::kLlama8b, .total = total})).fraction,
                   0.830);
  EXPECT_DOUBLE_EQ(planned(testing::ask({.config = testing::kLlama70b,
                                         .count = 4,
                                         .total = total,
                                         .options = R"({"tp_size":4})"}))
                       .fraction,
                   0.819);
}

TEST(SglangPools, CellsPerToken) {
  EXPECT_EQ(planned(testing::ask({.config = testing::kLlama8b})).cells.full, 131072);
  EXPECT_EQ(planned(testing::ask({.config = testing::kQwen30bA3b})).cells.full, 98304);
  EXPECT_EQ(
      planned(
          testing::ask({.config = testing::kDeepSeekV3, .count = 8, .options = R"({"tp_size":8})"}))
          .cells.full,
      70272);
  const RankPlan gpt = planned(testing::ask({.config = testing::kGptOss20b}));
  EXPECT_EQ(gpt.cells.full, 2048 * 12);
  EXPECT_EQ(gpt.cells.window, 2048 * 12);
  EXPECT_EQ(gpt.window_tokens, int64_t(double(gpt.tokens) * 0.8));
}

TEST(SglangPools, DataParallelAttentionKeepsWholeHeads) {
  const RankPlan r =
      planned(testing::ask({.config = testing::kLlama70b,
                            .count = 8,
                            .options = R"({"tp_size":8,"dp_size":8,"enable_dp_attention":true})"}));
  EXPECT_EQ(r.cells.full, 8 * 256 * 80 * 2);
}

TEST(SglangEngine, AsksForALargerFraction) {
  const Assessment a =
      testing::assess("sglang", testing::ask({.config = testing::kLlama8b,
                                              .gpu = "rtx-4090",
                                              .options = R"({"mem_fraction_static":0.5})"}));
  const Requirement* pool = testing::find(a, "kv_cache");
  ASSERT_NE(pool, nullptr);
  EXPECT_GT(pool->needed.low, pool->available.high);
  EXPECT_NE(pool->engine_error.find("Raise --mem-fraction-static above"), std::string::npos);
}

}  // namespace
}  // namespace vramwise::engines::sglang
