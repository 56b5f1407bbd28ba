#include "weights/ggml_type.h"

#include <gtest/gtest.h>

#include <set>

namespace vramwise::weights {
namespace {

TEST(GgmlType, BlocksAreThoseOfGgml) {
  struct {
    GgmlType type;
    int64_t elements, bytes;
  } const cases[] = {
      {GgmlType::F32, 1, 4},        {GgmlType::BF16, 1, 2},     {GgmlType::Q4_0, 32, 18},
      {GgmlType::Q5_1, 32, 24},     {GgmlType::Q8_0, 32, 34},   {GgmlType::Q2_K, 256, 84},
      {GgmlType::Q3_K, 256, 110},   {GgmlType::Q4_K, 256, 144}, {GgmlType::Q5_K, 256, 176},
      {GgmlType::Q6_K, 256, 210},   {GgmlType::IQ1_S, 256, 50}, {GgmlType::IQ1_M, 256, 56},
      {GgmlType::IQ4_XS, 256, 136}, {GgmlType::MXFP4, 32, 17},  {GgmlType::NVFP4, 64, 36},
      {GgmlType::TQ1_0, 256, 54},   {GgmlType::Q1_0, 128, 18},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(info(c.type).block_elements, c.elements) << info(c.type).name;
    EXPECT_EQ(info(c.type).block_bytes, c.bytes) << info(c.type).name;
  }
  // Q4_K is 144 bytes for 256 weights: a row of 4096 takes 16 blocks.
  EXPECT_EQ(row_bytes(info(GgmlType::Q4_K), 4096), Bytes(16 * 144));
}

TEST(GgmlType, EveryRowIsFoundByIdAndName) {
  std::set<int64_t> ids;
  for (const GgmlTypeInfo& t : ggml_types()) {
    EXPECT_TRUE(ids.insert(int64_t(t.type)).second) << t.name;
    EXPECT_EQ(ggml_type_from_id(int64_t(t.type)), t.type);
    EXPECT_EQ(ggml_type_from_name(t.name), t.type);
    EXPECT_EQ(&info(t.type), &t);
  }
  EXPECT_EQ(ggml_type_from_name("q4_K"), GgmlType::Q4_K);
  EXPECT_EQ(ggml_type_from_name("bf16"), GgmlType::BF16);
}

TEST(GgmlType, RemovedAndUnknownIdsAreRefused) {
  for (const int64_t id : {4, 5, 31, 32, 33, 36, 37, 38, 43, -1, 1 << 30}) {
    EXPECT_FALSE(ggml_type_from_id(id)) << id;
  }
  EXPECT_FALSE(ggml_type_from_name("Q4_2"));
  EXPECT_FALSE(ggml_type_from_name(""));
}

}  // namespace
}  // namespace vramwise::weights
