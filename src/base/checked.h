// Integer arithmetic that cannot overflow into nonsense.
//
// Every size in the core is an int64. Readers bound what they accept, but products of several
// bounded numbers can still leave the range, so the arithmetic saturates instead of wrapping: a
// saturated size is far above 2^53 and is turned into error `too_large` where an answer is written.
#pragma once

#include <cstdint>
#include <limits>

namespace vramwise {

inline constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();
inline constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();

// Largest integer that every JSON reader carries exactly (2^53 - 1); answers never hold more.
inline constexpr int64_t kLargestExactInteger = (int64_t{1} << 53) - 1;

constexpr int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? kInt64Max : kInt64Min;
}

constexpr int64_t saturating_subtract(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? kInt64Max : kInt64Min;
}

constexpr int64_t saturating_multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a > 0) == (b > 0) ? kInt64Max : kInt64Min;
}

// Smallest integer >= a / b for a >= 0, b > 0; division by zero answers 0 (callers validate b).
constexpr int64_t ceil_div(int64_t a, int64_t b) {
  if (b <= 0) return 0;
  return a / b + (a % b > 0 ? 1 : 0);
}

// Next multiple of `step` at or above a (a >= 0, step > 0).
constexpr int64_t round_up(int64_t a, int64_t step) {
  return saturating_multiply(ceil_div(a, step), step);
}

}  // namespace vramwise
