#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "vramwise/vramwise.h"

namespace {

TEST(CAbi, AnswersWithLengthAndTerminator) {
  const std::string request = "no JSON at all";
  void* answer = vramwise_handle(request.data(), static_cast<uint32_t>(request.size()));
  ASSERT_NE(answer, nullptr);
  uint32_t length = 0;
  std::memcpy(&length, answer, sizeof(length));
  const std::string text = vramwise_text(answer);
  EXPECT_EQ(text.size(), length);
  EXPECT_NE(text.find("\"error\""), std::string::npos) << text;
  vramwise_free(answer);
}

TEST(CAbi, TakesNothingAsARequest) {
  void* answer = vramwise_handle("", 0);
  ASSERT_NE(answer, nullptr);
  EXPECT_NE(std::string(vramwise_text(answer)).find("\"error\""), std::string::npos);
  vramwise_free(answer);
}

TEST(CAbi, CapsWhatIsAskedFor) {
  EXPECT_EQ(vramwise_alloc(0xffffffffU), nullptr);
  void* room = vramwise_alloc(0);
  EXPECT_NE(room, nullptr);
  vramwise_free(room);
  vramwise_free(nullptr);
}

}  // namespace
