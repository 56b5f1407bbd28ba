// Bars of sums of independent parts.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

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

// What a term lies within that was measured at least twice and follows from no rule. Likely is the
// median. The next value falls beyond all n before it about twice in n + 1 times, and then by a gap
// as they have: the bar goes one mean gap beyond both ends, not below zero where none was. No
// narrower than 64 MiB on either side: modules of kernels are loaded in pieces of that size.
inline ByteRange range_of_measured(std::vector<Bytes> found) {
  std::sort(found.begin(), found.end());
  const size_t n = found.size();
  const Bytes likely = n % 2 == 1 ? found[n / 2] : (found[n / 2 - 1] + found[n / 2]) / 2;
  const Bytes gap = (found.back() - found.front()) / int64_t(n - 1);
  Bytes low = std::min(found.front() - gap, likely - MiB(64));
  if (found.front().count() >= 0) low = std::max(low, Bytes());
  return {low, likely, std::max(found.back() + gap, likely + MiB(64))};
}

}  // namespace vramwise::engines
