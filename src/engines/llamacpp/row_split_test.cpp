#include "engines/llamacpp/row_split.h"

#include <gtest/gtest.h>

namespace vramwise::engines::llamacpp {
namespace {

using weights::GgmlType;
using weights::GgufTensor;

std::vector<BackendProfile> cards(size_t count, int compute_capability) {
  std::vector<BackendProfile> backends(count + 1);  // the CPU last
  for (size_t d = 0; d < count; ++d) {
    backends[d].split_buffers = true;
    backends[d].compute_capability = compute_capability;
  }
  return backends;
}

GgufTensor matrix(int64_t columns, int64_t rows, int64_t stack = 1) {
  return {"blk.0.attn_q.weight", {columns, rows, stack, 1}, GgmlType::Q8_0, 0, false};
}

TEST(RowSplit, SharesTheRowsOfAMatrixInGranules) {
  const RowSplit split({1, 2, 3}, 3, cards(3, 86));
  const GgufTensor t = matrix(2048, 4096);
  EXPECT_TRUE(split.cuts(0, t));
  const int64_t row = t.bytes().count() / 4096;
  EXPECT_EQ(split.bytes_on(0, t), 1280 * row);  // 1365 in steps of 128
  EXPECT_EQ(split.bytes_on(1, t), 1408 * row);
  EXPECT_EQ(split.bytes_on(2, t), 1408 * row);
}

// A router of 128 rows on four cards of before Volta (64 rows a granule): the second and the last
// get some. ggml-org/llama.cpp#13661 prints 12 x 1 MiB more for these two.
TEST(RowSplit, AMatrixThatLeavesItsHomeEmptyIsNotCut) {
  const RowSplit old({1, 2, 3, 4}, 4, cards(4, 37)), today({1, 2, 3, 4}, 4, cards(4, 86));
  const GgufTensor router = matrix(2048, 128);
  EXPECT_FALSE(old.cuts(0, router));
  EXPECT_TRUE(old.cuts(1, router));
  EXPECT_FALSE(old.cuts(2, router));
  EXPECT_TRUE(old.cuts(3, router));
  EXPECT_FALSE(today.cuts(1, router));
  EXPECT_TRUE(today.cuts(3, router));
}

TEST(RowSplit, StacksAndOtherBackendsStayWhole) {
  auto backends = cards(2, 86);
  EXPECT_FALSE(RowSplit({1, 2}, 2, backends).cuts(0, matrix(2048, 4096, 128)));
  backends[1].split_buffers = false;
  EXPECT_EQ(RowSplit({1, 2}, 2, backends).devices(), 0);
  EXPECT_EQ(RowSplit({1}, 1, cards(1, 86)).devices(), 0);
}

}  // namespace
}  // namespace vramwise::engines::llamacpp
