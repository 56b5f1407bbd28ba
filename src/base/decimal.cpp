#include "base/decimal.h"

#include <bit>
#include <vector>

namespace vramwise {
namespace {

// A whole number of any size, least significant limb first, no zero limb on top.
class Big {
 public:
  explicit Big(uint32_t value) {
    if (value != 0) limbs_.push_back(value);
  }

  void multiply_add(uint32_t factor, uint32_t addend) {
    uint64_t carry = addend;
    for (uint32_t& limb : limbs_) {
      carry += uint64_t(limb) * factor;
      limb = uint32_t(carry);
      carry >>= 32;
    }
    if (carry != 0) limbs_.push_back(uint32_t(carry));
  }

  void times_power_of_ten(int64_t n) {
    for (; n >= 9; n -= 9) multiply_add(1'000'000'000, 0);
    for (; n > 0; --n) multiply_add(10, 0);
  }

  void shift_left(int64_t bits) {
    if (limbs_.empty()) return;
    const int small = int(bits % 32);
    if (small != 0) {
      uint32_t carry = 0;
      for (uint32_t& limb : limbs_) {
        const uint32_t up = limb >> (32 - small);
        limb = (limb << small) | carry;
        carry = up;
      }
      if (carry != 0) limbs_.push_back(carry);
    }
    limbs_.insert(limbs_.begin(), size_t(bits / 32), 0);
  }

  void halve() {
    uint32_t carry = 0;
    for (size_t i = limbs_.size(); i-- > 0;) {
      const uint32_t down = limbs_[i] & 1U;
      limbs_[i] = (limbs_[i] >> 1) | (carry << 31);
      carry = down;
    }
    trim();
  }

  int64_t bits() const {
    return limbs_.empty() ? 0
                          : int64_t(limbs_.size()) * 32 - int64_t(std::countl_zero(limbs_.back()));
  }

  // Negative, zero or positive as this is smaller than, equal to or larger than `other`.
  int compare(const Big& other) const {
    if (limbs_.size() != other.limbs_.size()) return limbs_.size() < other.limbs_.size() ? -1 : 1;
    for (size_t i = limbs_.size(); i-- > 0;) {
      if (limbs_[i] != other.limbs_[i]) return limbs_[i] < other.limbs_[i] ? -1 : 1;
    }
    return 0;
  }

  // `other` is not larger.
  void subtract(const Big& other) {
    int64_t borrow = 0;
    for (size_t i = 0; i < limbs_.size(); ++i) {
      int64_t limb = int64_t(limbs_[i]) - borrow;
      if (i < other.limbs_.size()) limb -= int64_t(other.limbs_[i]);
      borrow = limb < 0 ? 1 : 0;
      limbs_[i] = uint32_t(limb);
    }
    trim();
  }

 private:
  void trim() {
    while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
  }

  std::vector<uint32_t> limbs_;
};

constexpr int64_t kFractionBits = 52;
constexpr int64_t kLeastPower = -1074;    // of the last bit of a subnormal
constexpr int64_t kLargestPower = 971;    // of the last bit of the largest doubles
constexpr int64_t kTopDecimal = 310;      // 10^309 is beyond every double
constexpr int64_t kBottomDecimal = -326;  // half of the least subnormal is above 10^-325

// floor(log2(a / b)) for b > 0, a > 0.
int64_t floor_log2(const Big& a, const Big& b) {
  const int64_t estimate = a.bits() - b.bits();
  Big x = a, y = b;
  if (estimate >= 0) {
    y.shift_left(estimate);
  } else {
    x.shift_left(-estimate);
  }
  return x.compare(y) >= 0 ? estimate : estimate - 1;
}

}  // namespace

std::optional<double> nearest_double(std::string_view digits, int64_t exponent) {
  if (digits.empty()) return 0.0;
  const int64_t magnitude = int64_t(digits.size()) + exponent;  // the value is below 10^magnitude
  if (magnitude > kTopDecimal) return std::nullopt;
  if (magnitude < kBottomDecimal) return 0.0;
  // The value is a / b.
  Big a(0), b(1);
  for (const char c : digits) a.multiply_add(10, uint32_t(c - '0'));
  if (a.bits() == 0) return 0.0;
  if (exponent >= 0) {
    a.times_power_of_ten(exponent);
  } else {
    b.times_power_of_ten(-exponent);
  }
  // 2^power is what the last bit of the result stands for.
  int64_t power = floor_log2(a, b) - kFractionBits;
  if (power < kLeastPower) power = kLeastPower;
  if (power >= 0) {
    b.shift_left(power);
  } else {
    a.shift_left(-power);
  }
  // quotient = floor(a / b), at most 53 bits; the remainder stays in a.
  uint64_t quotient = 0;
  Big part = b;
  part.shift_left(kFractionBits);
  for (int64_t bit = kFractionBits; bit >= 0; --bit) {
    if (a.compare(part) >= 0) {
      a.subtract(part);
      quotient |= uint64_t{1} << bit;
    }
    part.halve();
  }
  a.shift_left(1);
  const int half = a.compare(b);
  if (half > 0 || (half == 0 && (quotient & 1) != 0)) ++quotient;
  if (quotient == uint64_t{1} << (kFractionBits + 1)) {
    quotient >>= 1;
    ++power;
  }
  if (power > kLargestPower) return std::nullopt;
  if (quotient < uint64_t{1} << kFractionBits) return std::bit_cast<double>(quotient);  // subnormal
  const uint64_t biased = uint64_t(power - kLeastPower + 1);
  return std::bit_cast<double>((biased << kFractionBits) |
                               (quotient & ((uint64_t{1} << kFractionBits) - 1)));
}

}  // namespace vramwise
