// Buffers of the fused all-reduce by card, ranks and version.
#include <gtest/gtest.h>

#include "engines/spread.h"
#include "engines/vllm/build.h"
#include "support/questions.h"

namespace vramwise::engines::vllm {
namespace {

// Llama-3.1-70B: hidden size 8192, 16 KiB a token.
Bytes buffers(std::string_view gpu, int count, std::string_view version,
              std::string_view more = "") {
  const std::string options = R"({"max_num_batched_tokens":8192,"tensor_parallel_size":)" +
                              std::to_string(count) + std::string(more) + "}";
  const testing::Asked asked = testing::ask({.config = testing::kLlama70b,
                                             .gpu = gpu,
                                             .count = count,
                                             .version = version,
                                             .options = options});
  Notes notes;
  const auto b = build(asked.question(), notes);
  EXPECT_TRUE(b);
  return b ? all_reduce_buffers(b->stages.front().shape, 8192) : Bytes();
}

// flashinfer 0.6.8: 64 MiB are 4096 tokens; parts of 256 MiB, flags and 768 MiB, each in whole
// 512 MiB. Public logs of 0.21.0 on four GB300 hold 2 GiB more than those of one.
TEST(VllmAllReduce, BuffersAreRoundedToTheMulticastGranularity) {
  EXPECT_EQ(buffers("gb300", 4, "0.21.0"), MiB(512 + 512 + 1024));
  // 2 MiB are 128 tokens: the rounding is all there is.
  EXPECT_EQ(buffers("h100-sxm", 4, "0.19.0"), MiB(3 * 512));
}

// flashinfer 0.6.11 takes torch's symmetric memory.
TEST(VllmAllReduce, LaterBuffersAreWhatTheyHold) {
  EXPECT_EQ(buffers("gb300", 4, "0.22.1"), MiB(256 + 2 + 768));
  EXPECT_EQ(buffers("gb200", 4, "0.26.0"), MiB(128 + 2 + 384));
  EXPECT_EQ(buffers("h200-sxm", 4, "0.22.1"), MiB(8 + 2 + 24));
  EXPECT_EQ(buffers("h200-sxm", 2, "0.22.1"), MiB(128 + 2 + 384));  // 64 MiB at most
}

TEST(VllmAllReduce, NotEverywhere) {
  EXPECT_EQ(buffers("h100-sxm", 4, "0.16.0"), Bytes());      // not the default yet
  EXPECT_EQ(buffers("gb300", 4, "0.18.0"), Bytes());         // nor for 10.3
  EXPECT_EQ(buffers("a100-sxm4-80", 4, "0.22.1"), Bytes());  // compute capability 8.0
  EXPECT_EQ(buffers("h100-pcie", 2, "0.22.1"), Bytes());     // no switches
  EXPECT_EQ(buffers("h100-sxm", 4, "0.22.1", R"(,"enforce_eager":true)"), Bytes());
}

TEST(MeasuredRange, MedianAndOneGapBeyondBothEnds) {
  const ByteRange four = range_of_measured({MiB(500), MiB(800), MiB(560), MiB(620)});
  EXPECT_EQ(four.likely, MiB(590));
  EXPECT_EQ(four.low, MiB(400));
  EXPECT_EQ(four.high, MiB(900));
}

TEST(MeasuredRange, AgreementIsNotCertainty) {
  const ByteRange same = range_of_measured({MiB(133), MiB(133), MiB(133)});
  EXPECT_EQ(same.low, MiB(69));
  EXPECT_EQ(same.high, MiB(197));
}

TEST(MeasuredRange, NotBelowZeroWhereNoneWas) {
  EXPECT_EQ(range_of_measured({MiB(100), MiB(900)}).low, Bytes());
  EXPECT_EQ(range_of_measured({MiB(-70), MiB(130)}).low, MiB(-270));
}

}  // namespace
}  // namespace vramwise::engines::vllm
