#include "formats/gguf/collection.h"

#include <gtest/gtest.h>

namespace vramwise::formats {
namespace {

TEST(GgufCollection, Labels) {
  EXPECT_EQ(gguf_label("Llama-3.1-8B-Instruct-Q4_K_M.gguf"), "Q4_K_M");
  EXPECT_EQ(gguf_label("dir/llama-3.1-8b.q4_k_m.gguf"), "Q4_K_M");
  EXPECT_EQ(gguf_label("X-UD-Q4_K_XL-00001-of-00003.gguf"), "UD-Q4_K_XL");
  EXPECT_EQ(gguf_label("gpt-oss-20b-mxfp4.gguf"), "MXFP4");
  EXPECT_EQ(gguf_label("model-BF16.gguf"), "BF16");
  EXPECT_EQ(gguf_label("x-IQ2_XXS-imat.gguf"), "IQ2_XXS");
  EXPECT_EQ(gguf_label("Qwen3-8B.gguf"), "");
  EXPECT_EQ(gguf_label("Qwen-Q.gguf"), "");
}

TEST(GgufCollection, GroupsPartsAndLeavesCompanionsOut) {
  const auto choices = gguf_choices({"b-Q8_0.gguf", "a-Q4_K_M-00002-of-00002.gguf",
                                     "a-Q4_K_M-00001-of-00002.gguf", "c-Q2_K-00001-of-00003.gguf",
                                     "mmproj-F16.gguf", "x.imatrix.gguf", "README.md"});
  ASSERT_EQ(choices.size(), 3U);
  EXPECT_EQ(choices[0].label, "Q2_K");
  EXPECT_FALSE(choices[0].complete);
  EXPECT_EQ(choices[1].label, "Q4_K_M");
  EXPECT_TRUE(choices[1].complete);
  EXPECT_EQ(choices[1].parts[0], "a-Q4_K_M-00001-of-00002.gguf");
  EXPECT_EQ(choices[2].label, "Q8_0");
}

}  // namespace
}  // namespace vramwise::formats
