#include "weights/stored_parts.h"

#include <gtest/gtest.h>

namespace vramwise::weights {
namespace {

Scheme of(SchemeKind kind, int bits = 16, int64_t group = 128) {
  Scheme s;
  s.kind = kind;
  s.bits = bits;
  s.group = group;
  return s;
}

StoredCounts counts(const Scheme& scheme, int64_t in, int64_t out) {
  StoredCounts found{};
  const StoredParts parts = stored_parts(scheme, in, out);
  for (size_t i = 0; i < parts.count; ++i) {
    found[size_t(parts.parts[i].kind)] += parts.parts[i].elements;
  }
  return found;
}

int64_t count(const StoredCounts& found, StoredKind kind) { return found[size_t(kind)]; }

TEST(StoredParts, GptqHoldsEightWeightsAWordAndAnIndexAnInput) {
  const StoredCounts found = counts(of(SchemeKind::gptq, 4), 4096, 11008);
  EXPECT_EQ(count(found, StoredKind::weights), 0);
  EXPECT_EQ(count(found, StoredKind::packed_words) * 8, 4096 * 11008);
  EXPECT_EQ(count(found, StoredKind::scales), 32 * 11008);
  EXPECT_EQ(count(found, StoredKind::zero_points) * 8, 32 * 11008);
  EXPECT_EQ(count(found, StoredKind::indices), 4096);
}

TEST(StoredParts, NvfpFourHasTwoGlobalScalesWhereInputsAreQuantisedToo) {
  Scheme s = of(SchemeKind::nvfp4);
  EXPECT_EQ(count(counts(s, 5120, 1024), StoredKind::scalars), 1);
  s.static_input_scale = true;
  EXPECT_EQ(count(counts(s, 5120, 1024), StoredKind::scalars), 2);
  EXPECT_EQ(count(counts(s, 5120, 1024), StoredKind::packed_bytes), 5120 * 1024 / 2);
  EXPECT_EQ(count(counts(s, 5120, 1024), StoredKind::scales), 5120 / 16 * 1024);
}

TEST(StoredParts, BlocksOfFp8AreCutAtTheEdges) {
  const StoredCounts found = counts(of(SchemeKind::fp8_block), 7168, 576);
  EXPECT_EQ(count(found, StoredKind::weights), 7168 * 576);
  EXPECT_EQ(count(found, StoredKind::scales), 56 * 5);
}

TEST(StoredParts, OddCountsFillTheirLastWord) {
  // 7 weights of 4 bits: one word.
  EXPECT_EQ(stored_parts(of(SchemeKind::wna16, 4, 0), 7, 1).bytes(), Bytes(4 + 2 + 8));
}

TEST(StoredParts, BytesOfEverySchemeAreThoseOfItsParts) {
  for (int kind = 0; kind <= int(SchemeKind::mlx_affine); ++kind) {
    Scheme s = of(SchemeKind(kind), kind == int(SchemeKind::plain) ? 16 : 4, 128);
    const StoredParts parts = stored_parts(s, 4096, 1024);
    ASSERT_GT(parts.count, 0u) << kind;
    Bytes sum;
    for (size_t i = 0; i < parts.count; ++i) {
      sum += Bytes(parts.parts[i].element_bytes) * parts.parts[i].elements;
    }
    EXPECT_EQ(sum, at_rest(s, 4096, 1024)) << describe(s);
  }
}

}  // namespace
}  // namespace vramwise::weights
