#include "report/style.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace vramwise::report {
namespace {

TEST(Style, WrapKeepsTheWidthWhateverStandsBeforeIt) {
  const std::string text = "one two three four five six seven eight nine ten";
  for (int width = 12; width <= 60; ++width) {
    for (int first = 0; first <= 8; first += 4) {
      const std::string lines = std::string(size_t(first), ' ') + wrap(text, width, 4, first);
      for (const std::string_view line : split(lines, '\n')) {
        EXPECT_LE(display_width(line), width) << width << " " << first << ": " << line;
      }
      // No word is lost or cut.
      std::string words;
      for (const char c : lines) words += c == '\n' ? ' ' : c;
      size_t at = 0;
      for (const std::string_view word : split(text, ' ')) {
        at = words.find(word, at);
        ASSERT_NE(at, std::string::npos) << word;
      }
    }
  }
}

TEST(Style, AWordWiderThanTheLineStandsAlone) {
  EXPECT_EQ(wrap("a incomprehensibilities b", 8, 2), "a\n  incomprehensibilities\n  b");
}

TEST(Style, NamesCannotMoveTheCursor) {
  EXPECT_EQ(safe("a\x1b[2Jb\x7f"
                 "c\xc2\x9b"
                 "d"),
            "a?[2Jb?c?d");
  EXPECT_EQ(safe("héllo 模型"), "héllo 模型");
  EXPECT_EQ(safe("a\u202eb\u2066c\u200fd\u061ce"), "a?b?c?d?e");
  EXPECT_EQ(safe("\xb4\xc4\xc1 \xf3}J\x9b"), "??? ?}J?");  // no UTF-8
  EXPECT_EQ(display_width("模型"), 4);
}

}  // namespace
}  // namespace vramwise::report
