// Bars of sums of independent parts.
#pragma once

#include <cmath>

#include "base/units.h"

namespace vramwise::engines {

// Adds up how far the parts of a sum may lie off, as independent errors do: the root of the sum of
// squares. (sqrt is exact to the last bit on every platform.)
class Spread {
 public:
  void add(const ByteRange& part) {
    const auto up = double((part.high - part.likely).count());
    const auto down = double((part.likely - part.low).count());
    up_ += up * up;
    down_ += down * down;
  }
  Bytes up() const { return Bytes(int64_t(std::sqrt(up_))); }
  Bytes down() const { return Bytes(int64_t(std::sqrt(down_))); }

 private:
  double up_ = 0, down_ = 0;
};

// likely +- percent
inline ByteRange within_percent(Bytes likely, int64_t percent) {
  const Bytes bar = likely * percent / 100;
  return {likely - bar, likely, likely + bar};
}

}  // namespace vramwise::engines
