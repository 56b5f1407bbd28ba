#include "base/decimal.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/text.h"

namespace vramwise {
namespace {

// Same bits, so that -0 and 0 differ.
::testing::AssertionResult same(const std::string& text) {
  const auto read = parse_number(text);
  const double wanted = std::strtod(text.c_str(), nullptr);
  if (!std::isfinite(wanted)) {
    return read ? ::testing::AssertionFailure() << text << " is no double, read " << *read
                : ::testing::AssertionSuccess();
  }
  if (read && std::bit_cast<uint64_t>(*read) == std::bit_cast<uint64_t>(wanted)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << text << " is not " << wanted;
}

TEST(Decimal, KnownHardNumbers) {
  for (const char* text : {"1e23",
                           "8.5e22",
                           "9007199254740993",
                           "9007199254740992.5",
                           "2.2250738585072011e-308",
                           "2.2250738585072014e-308",
                           "4.9406564584124654e-324",
                           "2.4703282292062327e-324",
                           "2.4703282292062328e-324",
                           "1.7976931348623157e308",
                           "1.7976931348623158e308",
                           "1.7976931348623159e308",
                           "1e309",
                           "6.02214076e23",
                           "0.1e-400",
                           "-0.0",
                           "-1e-320",
                           "123456789012345678901234567890",
                           "3.14159265358979323846264338327950288",
                           "7.2057594037927933e16",
                           "1e-23",
                           "5e-324",
                           "100000000000000000000000e-23"}) {
    EXPECT_TRUE(same(text));
  }
}

TEST(Decimal, RandomNumbersOfEverySize) {
  uint64_t state = 0x9E3779B97F4A7C15ULL;
  char text[64];
  for (int i = 0; i < 20'000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const double value = std::bit_cast<double>(state ^ (state >> 29));
    if (!std::isfinite(value)) continue;
    for (const char* format : {"%.17g", "%.25g", "%.6g"}) {
      std::snprintf(text, sizeof text, format, value);
      ASSERT_TRUE(same(text));
    }
  }
}

TEST(Decimal, HalfwayBetweenTwoDoublesAndAHairBeyond) {
  // 1 + 2^-53, written in full: ties to even, one digit more goes up.
  const std::string half = "1.00000000000000011102230246251565404236316680908203125";
  EXPECT_TRUE(same(half));
  EXPECT_EQ(parse_number(half), 1.0);
  EXPECT_EQ(parse_number(half + std::string(900, '0') + "1"),
            1.0 + std::numeric_limits<double>::epsilon());
  EXPECT_TRUE(same(half + std::string(900, '0') + "1"));
}

TEST(Decimal, ThousandsOfDigits) {
  EXPECT_TRUE(same(std::string(2000, '9') + "e-1990"));
  EXPECT_TRUE(same("0." + std::string(300, '0') + std::string(1500, '7')));
  EXPECT_TRUE(same("1" + std::string(500, '0') + "e-500"));
  EXPECT_TRUE(same("0." + std::string(5000, '0') + "1e5001"));
}

// The standard library's own text, which the WebAssembly build does without.
std::string standard_text(double value) {
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), end.ptr);
}

TEST(Decimal, ShortestTextOfNumbersAtTheEdges) {
  for (const double value : {0.0,
                             -0.0,
                             0.1,
                             0.3,
                             1.0 / 3,
                             2.0 / 3,
                             -2.5,
                             1e15,
                             1e16,
                             1e21,
                             1e22,
                             1e23,
                             9e15,
                             123456789012345680.0,
                             9007199254740993.0,
                             1152921504606846976.0,
                             1.2345678901234567e21,
                             1.2345678901234567e22,
                             0.001,
                             0.0001,
                             0.00001,
                             0.00012,
                             1.5e-5,
                             5e-324,
                             2.2250738585072014e-308,
                             1.7976931348623157e308,
                             4.35,
                             0.000123456789,
                             9.5367431640625e-7,
                             1e-7,
                             12345678.9,
                             0.30000000000000004}) {
    EXPECT_EQ(shortest_text(value), standard_text(value));
  }
  for (int power = -1074; power < 1024;
       ++power) {  // the gap below a power of two is half the one above
    const double value = std::ldexp(1.0, power);
    EXPECT_EQ(shortest_text(value), standard_text(value));
    EXPECT_EQ(shortest_text(std::nextafter(value, 0.0)), standard_text(std::nextafter(value, 0.0)));
  }
}

TEST(Decimal, ShortestTextOfRandomNumbers) {
  uint64_t state = 0x2545F4914F6CDD1DULL;
  const auto next = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  };
  for (int i = 0; i < 20'000; ++i) {
    const auto any = std::bit_cast<double>(next());
    if (std::isfinite(any)) {
      EXPECT_EQ(shortest_text(any), standard_text(any));
    }
    // As answers hold them: quotients and a few decimals.
    const double quotient = double(next() % 1'000'000'007) / double(1 + next() % 65'537);
    EXPECT_EQ(shortest_text(quotient), standard_text(quotient));
    const double decimals = double(next() % 10'000'000) / 1e4;
    EXPECT_EQ(shortest_text(decimals), standard_text(decimals));
    const double large = std::floor(double(next() >> 20) * double(next() % 1'000'000'000));
    EXPECT_EQ(shortest_text(large), standard_text(large));
  }
}

}  // namespace
}  // namespace vramwise
