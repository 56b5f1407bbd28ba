#include "engines/llamacpp/row_split.h"

#include <algorithm>

#include "base/checked.h"

namespace vramwise::engines::llamacpp {

RowSplit::RowSplit(const std::vector<double>& shares_up_to, double sum,
                   const std::vector<BackendProfile>& backends) {
  const size_t devices = shares_up_to.size();
  const auto last = backends.begin() + ptrdiff_t(devices);
  const auto able = [](const BackendProfile& b) { return b.split_buffers; };
  if (devices < 2 || !std::all_of(backends.begin(), last, able)) return;
  for (size_t d = 0; d < devices; ++d) {
    ends_.push_back(sum > 0 ? shares_up_to[d] / sum : double(d + 1) / double(devices));
  }
  // Rows of a tile of the integer kernels: 64 before Volta, 128 since and on AMD.
  const auto older = [](const BackendProfile& b) {
    return b.compute_capability > 0 && b.compute_capability < 70;
  };
  if (std::all_of(backends.begin(), last, older)) granule_ = 64;
}

RowSplit::Rows RowSplit::rows_of(int16_t d, int64_t rows) const {
  const auto bound = [&](int16_t i) -> int64_t {
    if (i < 0) return 0;
    if (i + 1 == devices()) return rows;
    return int64_t(double(rows) * ends_[size_t(i)]) / granule_ * granule_;
  };
  const int64_t from = std::clamp<int64_t>(bound(int16_t(d - 1)), 0, rows);
  return {from, std::clamp<int64_t>(bound(d), from, rows)};
}

bool RowSplit::cuts(int16_t home, const weights::GgufTensor& t) const {
  if (home >= devices() || t.extent[1] <= 1 || t.extent[2] > 1) return false;
  const Rows own = rows_of(home, t.extent[1]);
  return own.to > own.from;
}

int64_t RowSplit::bytes_on(int16_t d, const weights::GgufTensor& t) const {
  const int64_t rows = t.extent[1], row = t.bytes().count() / std::max<int64_t>(1, rows);
  const Rows own = rows_of(d, rows);
  if (own.to <= own.from) return 0;
  int64_t bytes = saturating_multiply(row, own.to - own.from);
  if (is_quantized(t.type) && t.extent[0] % 512 != 0) {
    bytes = saturating_add(bytes, bytes_of_row(t.type, 512 - t.extent[0] % 512));
  }
  return bytes;
}

}  // namespace vramwise::engines::llamacpp
