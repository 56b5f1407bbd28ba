#include <gtest/gtest.h>

#include "support/questions.h"

namespace vramwise::engines {
namespace {

TEST(TransformersEngine, WeightsAsStoredAndAGrowingCache) {
  testing::Asked asked = testing::ask({.config = testing::kLlama8b});
  asked.workload.sequence_tokens = Tokens(8192);
  asked.workload.concurrency = Sequences(2);
  const Assessment a = testing::assess("transformers", asked);
  EXPECT_EQ(a.need.total(0, Component::weights).likely.count(), 8030261248 * 2);
  // 131,072 bytes a token in 32 layers, one of them twice while a token is added.
  EXPECT_EQ(a.need.total(0, Component::kv_cache).likely.count(),
            int64_t{131072} * 8192 * 2 / 32 * 33);
  EXPECT_EQ(a.primary, Reading::need);
  EXPECT_GT(a.users, 2);
  EXPECT_GT(a.longest_sequence, 8192);
}

TEST(TransformersEngine, EagerAttentionPaysForItsScores) {
  testing::Asked flash = testing::ask({.config = testing::kLlama8b});
  flash.workload.sequence_tokens = Tokens(8192);
  testing::Asked eager =
      testing::ask({.config = testing::kLlama8b, .options = R"({"attn_implementation":"eager"})"});
  eager.workload.sequence_tokens = Tokens(8192);
  EXPECT_GT(testing::assess("transformers", eager).need.total(0).likely,
            testing::assess("transformers", flash).need.total(0).likely + GiB(10));
}

}  // namespace
}  // namespace vramwise::engines
