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

// vllm issue 30919: gpt-oss-120b on eight B200, 0.13, asks for it by
// --compilation_config.pass_config.fuse_allreduce_rms; a range of batches from 183 tokens on is
// compiled apart, 1 MiB of 5,760 bytes each.
TEST(VllmAllReduce, AskedForBeforeItWasTheDefault) {
  constexpr std::string_view kAsked =
      R"(,"compilation_config.pass_config.fuse_allreduce_rms":true)";
  EXPECT_EQ(buffers("b200", 8, "0.13.0", kAsked), MiB(3 * 512));
  EXPECT_EQ(buffers("b200", 8, "0.13.0"), Bytes());
  EXPECT_EQ(buffers("h100-sxm", 4, "0.19.0",
                    R"(,"compilation_config.pass_config.fuse_allreduce_rms":false)"),
            Bytes());
}

// 500, 560, 620, 800: mean 620, deviation 129.6; 2.353 x 129.6 x sqrt(1.25) = 341.
TEST(MeasuredRange, TheNextValueNineTimesInTen) {
  const ByteRange four = range_of_measured({MiB(500), MiB(800), MiB(560), MiB(620)});
  EXPECT_EQ(four.likely, MiB(590));
  EXPECT_NEAR(double(four.low.count()), double(MiB(279).count()), double(MiB(1).count()));
  EXPECT_NEAR(double(four.high.count()), double(MiB(961).count()), double(MiB(1).count()));
}

TEST(MeasuredRange, AgreementIsNotCertainty) {
  const ByteRange same = range_of_measured({MiB(133), MiB(133), MiB(133)});
  EXPECT_EQ(same.low, MiB(69));
  EXPECT_EQ(same.high, MiB(197));
}

// Logs hold negative values too: what was cached before is given back.
TEST(MeasuredRange, MayEndBelowZero) {
  EXPECT_LT(range_of_measured({MiB(100), MiB(900)}).low, Bytes());
}

}  // namespace
}  // namespace vramwise::engines::vllm
