// Bars of sums of independent parts.
#pragma once

#include <algorithm>
#include <array>
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

// What a term lies within that was measured at least twice and follows from no rule: the values are
// taken for draws of one normal distribution, and the next lies within
//   mean +- t(n - 1) x s x sqrt(1 + 1/n)
// nine times in ten (t: 95 % quantile of Student's distribution). Likely is the median. No narrower
// than 64 MiB on either side: modules of kernels are loaded in pieces of that size.
// With the values of one source left out, 78 of the 90 in catalog/engines/vllm.json lie within what
// the rest say.
inline ByteRange range_of_measured(std::vector<Bytes> found) {
  std::sort(found.begin(), found.end());
  const size_t n = found.size();
  const Bytes likely = n % 2 == 1 ? found[n / 2] : (found[n / 2 - 1] + found[n / 2]) / 2;
  double sum = 0, squares = 0;
  for (const Bytes b : found) sum += double(b.count());
  const double mean = sum / double(n);
  for (const Bytes b : found) squares += (double(b.count()) - mean) * (double(b.count()) - mean);
  constexpr std::array<double, 12> kStudent = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943,
                                               1.895, 1.860, 1.833, 1.812, 1.796, 1.782};
  const double t = kStudent[std::min(n - 1, kStudent.size()) - 1];
  const double half = t * std::sqrt(squares / double(n - 1) * (1 + 1 / double(n)));
  return {std::min(Bytes(int64_t(mean - half)), likely - MiB(64)), likely,
          std::max(Bytes(int64_t(mean + half)), likely + MiB(64))};
}

}  // namespace vramwise::engines
