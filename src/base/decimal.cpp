#include "base/decimal.h"

#include <algorithm>
#include <bit>
#include <cmath>
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

  // Divides and returns the remainder.
  uint32_t divide(uint32_t divisor) {
    uint64_t rest = 0;
    for (size_t i = limbs_.size(); i-- > 0;) {
      rest = (rest << 32) | limbs_[i];
      limbs_[i] = uint32_t(rest / divisor);
      rest %= divisor;
    }
    trim();
    return uint32_t(rest);
  }

  void add(const Big& other) {
    limbs_.resize(std::max(limbs_.size(), other.limbs_.size()) + 1);
    uint64_t carry = 0;
    for (size_t i = 0; i < limbs_.size(); ++i) {
      carry += limbs_[i] + uint64_t(i < other.limbs_.size() ? other.limbs_[i] : 0);
      limbs_[i] = uint32_t(carry);
      carry >>= 32;
    }
    trim();
  }

  bool is_zero() const { return limbs_.empty(); }

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

namespace {

// value = 0.digits x 10^point
struct Decimal {
  std::string digits;
  int64_t point = 0;
};

// The significand and the power of two of a finite double above zero.
struct Binary {
  uint64_t significand;
  int64_t power;
  bool lower_gap_is_half;  // a power of two: its neighbour below is half as far away
};

Binary binary_of(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const uint64_t fraction = bits & ((uint64_t{1} << kFractionBits) - 1);
  const int64_t biased = int64_t(bits >> kFractionBits) & 0x7FF;
  if (biased == 0) return {fraction, kLeastPower, false};
  return {fraction | (uint64_t{1} << kFractionBits), kLeastPower + biased - 1,
          fraction == 0 && biased > 1};
}

Big big_of(uint64_t n) {
  Big big(uint32_t(n >> 32));
  big.shift_left(32);
  big.add(Big(uint32_t(n)));
  return big;
}

// Digits until what is left is nearer to the value than half the way to its neighbours.
// Source: Steele, White: How to print floating-point numbers accurately (1990), algorithm FPP2.
Decimal fewest_digits(double value) {
  const Binary binary = binary_of(value);
  const bool even = (binary.significand & 1) == 0;  // a tie reads back as the even one
  // The value is rest / scale, half the gap above it up / scale, the one below it down / scale.
  Big rest = big_of(binary.significand), scale(2), up(1);
  rest.shift_left(1 + std::max<int64_t>(binary.power, 0));
  up.shift_left(std::max<int64_t>(binary.power, 0));
  scale.shift_left(std::max<int64_t>(-binary.power, 0));
  Big down = up;
  if (binary.lower_gap_is_half) {
    rest.shift_left(1);
    scale.shift_left(1);
    up.shift_left(1);
  }
  // The first digit's place, from the length in bits: log10(2) = 0.30103; one too low at most.
  Decimal out;
  out.point = (rest.bits() - scale.bits() - 1) * 30103 / 100000 - 1;
  if (out.point >= 0) {
    scale.times_power_of_ten(out.point);
  } else {
    for (Big* part : {&rest, &up, &down}) part->times_power_of_ten(-out.point);
  }
  const auto rounds_up = [&] {
    Big high = rest;
    high.add(up);
    const int order = high.compare(scale);
    return order > 0 || (order == 0 && even);
  };
  for (; rounds_up(); ++out.point) scale.multiply_add(10, 0);
  while (true) {
    for (Big* part : {&rest, &up, &down}) part->multiply_add(10, 0);
    char digit = '0';
    for (; rest.compare(scale) >= 0; ++digit) rest.subtract(scale);
    const int below = rest.compare(down);
    const bool low = below < 0 || (below == 0 && even), high = rounds_up();
    out.digits += digit;
    if (!low && !high) continue;
    // Both neighbours read back: the nearer digit, the even one when they are as near.
    rest.shift_left(1);
    const int half = rest.compare(scale);
    const bool odd = ((digit - '0') & 1) != 0;
    if (high && (!low || half > 0 || (half == 0 && odd))) ++out.digits.back();
    return out;
  }
}

// The same where few digits are enough, in plain arithmetic: a number of at most 15 digits and a
// power of ten up to 10^22 are doubles, so their quotient is the double nearest to the decimal.
std::optional<Decimal> few_digits(double value) {
  double power = 1;
  for (int decimals = 0; decimals <= 15; ++decimals, power *= 10) {
    const double scaled = value * power;
    if (scaled >= 1e15) break;
    const double whole = std::floor(scaled + 0.5);
    if (whole < 1 || whole / power != value) continue;
    std::string digits = std::to_string(int64_t(whole));
    const int64_t point = int64_t(digits.size()) - decimals;
    digits.erase(digits.find_last_not_of('0') + 1);
    return Decimal{std::move(digits), point};
  }
  return std::nullopt;
}

// All digits of a whole number.
std::string whole_digits(double value) {
  const Binary binary = binary_of(value);
  Big rest = big_of(binary.significand);
  if (binary.power >= 0) {
    rest.shift_left(binary.power);
  } else {
    for (int64_t i = 0; i < -binary.power; ++i) rest.halve();
  }
  std::string text;
  while (!rest.is_zero()) text += char('0' + rest.divide(10));
  std::reverse(text.begin(), text.end());
  return text;
}

}  // namespace

std::string shortest_text(double value) {
  std::string text = std::signbit(value) ? "-" : "";
  if (value == 0) return text + "0";
  value = std::fabs(value);
  Decimal decimal;
  if (auto few = few_digits(value)) {
    decimal = std::move(*few);
  } else {
    decimal = fewest_digits(value);
  }
  const int64_t digits = int64_t(decimal.digits.size());
  const int64_t last = decimal.point - digits;  // power of ten of the last digit
  // Where fixed is not longer than "d.ddde+xx"; one digit alone has no point to carry.
  const bool fixed = digits == 1 ? last >= -3 && last <= 4 : last >= -(digits + 3) && last <= 5;
  if (fixed) {
    if (last >= 0) return text + whole_digits(value);
    if (decimal.point <= 0) {
      return text + "0." + std::string(size_t(-decimal.point), '0') + decimal.digits;
    }
    return text + decimal.digits.insert(size_t(decimal.point), ".");
  }
  const int64_t exponent = decimal.point - 1;
  text += decimal.digits[0];
  if (digits > 1) text += "." + decimal.digits.substr(1);
  text += exponent < 0 ? "e-" : "e+";
  const int64_t size = exponent < 0 ? -exponent : exponent;
  if (size < 10) text += "0";
  return text + std::to_string(size);
}

}  // namespace vramwise
