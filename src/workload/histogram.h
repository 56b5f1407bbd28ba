// Weighted histograms with O(1) updates and no allocation after construction.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace vramwise::workload {

// Weight by cell. Points are kept as they are, ramps as differences between neighbours, so that a
// ramp costs the same whatever its length: it spreads its weight evenly over the cells it crosses.
class CellSums {
 public:
  explicit CellSums(int64_t cells) : points_(size_t(cells)), steps_(size_t(cells) + 1) {}

  void add(int64_t i, double x, double weight) {
    points_[size_t(i)] += weight;
    moment_ += weight * x;
  }
  // From `from` in cell i to `to` in cell j >= i.
  void ramp(int64_t i, int64_t j, double from, double to, double weight) {
    spread(i, j, weight);
    moment_ += weight * (from + to) / 2;
  }
  // A ramp that crosses cells of several widths, piece by piece: it enters and leaves in the cells
  // i and j; `edge(k)` is where cell k begins, `level_end(k)` the first cell after k of another
  // width.
  template <class Edge, class LevelEnd>
  void ramp(int64_t i, int64_t j, double from, double to, double weight, Edge edge,
            LevelEnd level_end) {
    moment_ += weight * (from + to) / 2;
    const double height = weight / (to - from);
    double left = from;
    for (int64_t end = level_end(i); end <= j; i = end, end = level_end(i)) {
      const double right = edge(end);
      spread(i, end - 1, height * (right - left));
      left = right;
    }
    spread(i, j, height * (to - left));
  }
  int64_t cells() const { return int64_t(points_.size()); }
  double total() const;
  double mean() const {
    const double sum = total();
    return sum > 0 ? moment_ / sum : 0;
  }
  // The cell in which the share p of the weight is reached; cells() when rounding hides it.
  int64_t cell_of_share(double p) const;
  // Share of the weight in the cells up to this one; 1 when empty.
  double share_up_to(int64_t cell) const;
  // Of histograms with the same cells; others are left out.
  void merge(const CellSums& other);

 private:
  void spread(int64_t i, int64_t j, double weight) {
    const double each = weight / double(j - i + 1);
    steps_[size_t(i)] += each;
    steps_[size_t(j) + 1] -= each;
  }
  double moment_ = 0;
  std::vector<double> points_;
  std::vector<double> steps_;
};

// Even cells over [0, top].
class LinearHistogram {
 public:
  LinearHistogram(double top, int cells)
      : scale_(top > 0 ? cells / top : 0), sums_(int64_t{cells} + 1) {}
  void add(double x, double weight) { sums_.add(cell(x), x, weight); }
  void ramp(double from, double to, double weight) {
    sums_.ramp(cell(from), cell(to), from, to, weight);
  }
  double total() const { return sums_.total(); }
  double mean() const { return sums_.mean(); }
  // The upper edge of the cell in which the share p of the weight is reached.
  double quantile(double p) const;
  void merge(const LinearHistogram& other) { sums_.merge(other.sums_); }

 private:
  int64_t cell(double x) const {
    const int64_t last = sums_.cells() - 1;
    const int64_t i = int64_t(x * scale_);
    return i < 0 ? 0 : i > last ? last : i;
  }
  double scale_;
  CellSums sums_;
};

// Cells of equal ratio for positive values between 2^-24 (60 ns as seconds) and 2^24: an octave has
// 128 cells, so a cell is at most 0.8 % wide. The cell is read from the bits of the number.
class LogHistogram {
 public:
  void add(double x, double weight) { sums_.add(cell(x), x, weight); }
  void ramp(double from, double to, double weight) {
    const int64_t i = cell(from);
    const int64_t j = cell(to);
    // Cells of one octave are equally wide, those of the next twice as wide.
    if (i >> kBitsPerOctave == j >> kBitsPerOctave) {
      sums_.ramp(i, j, from, to, weight);
    } else {
      sums_.ramp(i, j, from, to, weight, edge,
                 [](int64_t k) { return ((k >> kBitsPerOctave) + 1) << kBitsPerOctave; });
    }
  }
  double total() const { return sums_.total(); }
  double mean() const { return sums_.mean(); }
  // The middle of the cell in which the share p of the weight is reached; 0 when empty.
  double quantile(double p) const;
  // Share of the weight at or below x, to a cell.
  double share_below(double x) const { return sums_.share_up_to(cell(x)); }
  void merge(const LogHistogram& other) { sums_.merge(other.sums_); }

 private:
  static constexpr int kBitsPerOctave = 7;
  static constexpr int kLowest = -24;
  static constexpr int64_t kCells = int64_t{48} << kBitsPerOctave;
  static int64_t cell(double x) {
    // Exponent and leading mantissa bits in one number: monotone in x.
    const int64_t code = int64_t(std::bit_cast<uint64_t>(x) >> (52 - kBitsPerOctave)) -
                         (int64_t{1023 + kLowest} << kBitsPerOctave);
    return x <= 0 || code < 0 ? 0 : code >= kCells ? kCells - 1 : code;
  }
  static double edge(int64_t cell);
  CellSums sums_{kCells};
};

}  // namespace vramwise::workload
