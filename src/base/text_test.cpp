#include "base/text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/units.h"

namespace vramwise {
namespace {

TEST(Text, BytesRoundOnIntegers) {
  EXPECT_EQ(format_bytes(Bytes(0)), "0 B");
  EXPECT_EQ(format_bytes(Bytes(1023)), "1023 B");
  EXPECT_EQ(format_bytes(GiB(40)), "40.00 GiB");
  // 81,090 MiB is what an H100 shows; 79.19 is how its logs round it.
  EXPECT_EQ(format_bytes(MiB(81090)), "79.19 GiB");
  EXPECT_EQ(format_bytes(-MiB(130)), "-130.00 MiB");
  // 1023.999 MiB rounds up without becoming 1024.00 of the smaller unit's neighbour.
  EXPECT_EQ(format_bytes(GiB(1) - Bytes(1)), "1024.00 MiB");
  EXPECT_EQ(format_bytes(Bytes(kInt64Min)), "-8192.00 PiB");
}

TEST(Text, FixedRoundsHalfAway) {
  EXPECT_EQ(format_fixed(2.5, 0), "3");
  EXPECT_EQ(format_fixed(-2.5, 0), "-3");
  EXPECT_EQ(format_fixed(0.125, 2), "0.13");
  EXPECT_EQ(format_fixed(99.999, 1), "100.0");
}

TEST(Text, NumbersReadBackExactly) {
  for (const double d : {0.0, 1.0, -1.5, 0.1, 0.92, 1e22, 123456789.125, 3.4661, 1e-7}) {
    EXPECT_EQ(parse_number(format_number(d)), d) << d;
  }
  EXPECT_EQ(format_number(4096.0), "4096");
  EXPECT_EQ(format_number(std::nan("")), "null");
}

TEST(Text, NumbersThatAreNone) {
  for (const char* text : {"", "-", ".", "1.5x", "e5", "0x10", "1e999999", "nan", "1 2"}) {
    EXPECT_FALSE(parse_number(text)) << text;
  }
  EXPECT_FALSE(parse_integer("12a"));
  EXPECT_FALSE(parse_integer("9223372036854775808"));
  EXPECT_EQ(parse_integer("-9223372036854775808"), kInt64Min);
}

TEST(Text, GroupsDigits) {
  EXPECT_EQ(format_grouped(0), "0");
  EXPECT_EQ(format_grouped(999), "999");
  EXPECT_EQ(format_grouped(1000), "1,000");
  EXPECT_EQ(format_grouped(-1234567), "-1,234,567");
}

TEST(Text, NearestNamesFindsTyposAndParts) {
  const std::vector<std::string_view> gpus = {"a100-sxm4-80", "h100-sxm", "h200-sxm", "rtx-4090"};
  EXPECT_EQ(nearest_names("h20O-sxm", gpus).front(), "h200-sxm");
  EXPECT_EQ(nearest_names("4090", gpus).front(), "rtx-4090");
  EXPECT_TRUE(nearest_names("completely different", gpus).empty());
  EXPECT_TRUE(nearest_names(std::string(5000, 'x'), gpus).empty());
}

TEST(Text, GlobMatchesWithoutBacktrackingTrouble) {
  EXPECT_TRUE(glob_match("model.layers.*.mlp*", "model.layers.3.mlp.gate"));
  EXPECT_FALSE(glob_match("*.mlp", "model.layers.3.mlp.gate"));
  EXPECT_TRUE(glob_match("lm_head", "lm_head"));
  // Exponential in a naive matcher.
  EXPECT_FALSE(glob_match("*a*a*a*a*a*a*a*a*a*a*b", std::string(4000, 'a')));
}

TEST(Units, SaturateInsteadOfWrapping) {
  const Bytes huge(kInt64Max);
  EXPECT_EQ(huge + Bytes(1), huge);
  EXPECT_EQ(huge * 2, huge);
  EXPECT_EQ((huge * -2).count(), kInt64Min);
  EXPECT_EQ(-Bytes(kInt64Min), huge);
  EXPECT_EQ(ceil_div(7, 0), 0);
  EXPECT_EQ(round_up(2880, 256), 3072);
  EXPECT_EQ(round_up(0, 256), 0);
}

}  // namespace
}  // namespace vramwise
