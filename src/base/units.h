// Strong types for the units that memory planning mixes up.
//
// A Quantity is an int64 with a unit. Quantities of one unit add, subtract and compare; a quantity
// times a plain count stays in its unit; a quantity divided by the same unit is a plain ratio.
// Adding Tokens to Bytes does not compile. `.count()` is the only way out.
#pragma once

#include <compare>
#include <cstdint>

#include "base/checked.h"

namespace vramwise {

template <class Unit>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(int64_t count) : count_(count) {}

  constexpr int64_t count() const { return count_; }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;

  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(saturating_add(a.count_, b.count_));
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(saturating_subtract(a.count_, b.count_));
  }
  friend constexpr Quantity operator*(Quantity a, int64_t n) {
    return Quantity(saturating_multiply(a.count_, n));
  }
  friend constexpr Quantity operator*(int64_t n, Quantity a) { return a * n; }
  // Whole times b fits into a (rounds toward zero); 0 when b is zero.
  friend constexpr int64_t operator/(Quantity a, Quantity b) {
    return b.count_ == 0 ? 0 : a.count_ / b.count_;
  }
  friend constexpr Quantity operator/(Quantity a, int64_t n) {
    return Quantity(n == 0 ? 0 : a.count_ / n);
  }
  friend constexpr Quantity operator-(Quantity a) { return Quantity() - a; }
  constexpr Quantity& operator+=(Quantity b) { return *this = *this + b; }
  constexpr Quantity& operator-=(Quantity b) { return *this = *this - b; }
  constexpr Quantity& operator*=(int64_t n) { return *this = *this * n; }

 private:
  int64_t count_ = 0;
};

// A size, or a signed remainder of sizes (free memory may be negative).
using Bytes = Quantity<struct BytesUnit>;
using Tokens = Quantity<struct TokensUnit>;
using Sequences = Quantity<struct SequencesUnit>;

constexpr Bytes KiB(int64_t n) { return Bytes(n) * 1024; }
constexpr Bytes MiB(int64_t n) { return Bytes(n) * (int64_t{1} << 20); }
constexpr Bytes GiB(int64_t n) { return Bytes(n) * (int64_t{1} << 30); }
// Decimal gigabytes, as on a card's box.
constexpr Bytes GB(int64_t n) { return Bytes(n) * 1'000'000'000; }

// A size known within limits; low <= likely <= high.
struct ByteRange {
  Bytes low;
  Bytes likely;
  Bytes high;

  static constexpr ByteRange exactly(Bytes b) { return {b, b, b}; }
  friend constexpr ByteRange operator+(ByteRange a, ByteRange b) {
    return {a.low + b.low, a.likely + b.likely, a.high + b.high};
  }
  constexpr ByteRange& operator+=(ByteRange b) { return *this = *this + b; }
  constexpr bool is_exact() const { return low == high; }
};

}  // namespace vramwise
