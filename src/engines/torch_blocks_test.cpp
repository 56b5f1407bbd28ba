#include "engines/torch_blocks.h"

#include <gtest/gtest.h>

namespace vramwise::engines {
namespace {

constexpr Bytes mib(double n) { return Bytes(int64_t(n * 1048576)); }

TEST(TorchBlocks, SlackUpToOneMebibyteIsKept) {
  struct Case {
    double asked, slack;
  };
  // Below 10 MiB segments are shared; more than 1 MiB left over is cut off and used elsewhere.
  for (const Case& c : {Case{9.5, 0}, Case{10, 0}, Case{17.5, 0.5}, Case{12.5, 0}, Case{43, 1},
                        Case{67.5, 0.5}, Case{33.75, 0.25}, Case{62.5, 0}}) {
    EXPECT_EQ(block_slack(mib(c.asked)).count(), mib(c.slack).count()) << c.asked;
  }
}

TEST(TorchBlocks, PartsOfAMergedParameterAreOneBlock) {
  // Query, key and value of two layers, 17.5 MiB together.
  ParameterBlocks blocks;
  for (int32_t layer = 0; layer < 2; ++layer) {
    blocks.add_part(1, layer, mib(12.5));
    blocks.add_part(1, layer, mib(2.5));
    blocks.add_part(1, layer, mib(2.5));
  }
  blocks.add(mib(43), 3);
  EXPECT_EQ(blocks.finish().count(), mib(2 * 0.5 + 3 * 1).count());
}

}  // namespace
}  // namespace vramwise::engines
