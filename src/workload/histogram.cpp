#include "workload/histogram.h"

namespace vramwise::workload {

double CellSums::total() const {
  double height = 0;
  double sum = 0;
  for (size_t i = 0; i < points_.size(); ++i) {
    height += steps_[i];
    sum += height + points_[i];
  }
  return sum;
}

int64_t CellSums::cell_of_share(double p) const {
  const double goal = total() * p;
  double height = 0;
  double below = 0;
  for (size_t i = 0; i < points_.size(); ++i) {
    height += steps_[i];
    below += height + points_[i];
    // Differences leave rounding dust behind; a share is not read more finely than that.
    if (below >= goal * (1 - 1e-12)) return int64_t(i);
  }
  return cells();
}

double CellSums::share_up_to(int64_t cell) const {
  const double sum = total();
  if (sum <= 0) return 1;
  double height = 0;
  double below = 0;
  for (size_t i = 0; i <= size_t(cell); ++i) {
    height += steps_[i];
    below += height + points_[i];
  }
  return below / sum;
}

void CellSums::merge(const CellSums& other) {
  if (other.points_.size() != points_.size()) return;
  for (size_t i = 0; i < points_.size(); ++i) points_[i] += other.points_[i];
  for (size_t i = 0; i < steps_.size(); ++i) steps_[i] += other.steps_[i];
  moment_ += other.moment_;
}

double LinearHistogram::quantile(double p) const {
  if (sums_.total() <= 0 || scale_ <= 0) return 0;
  const int64_t i = sums_.cell_of_share(p);
  return double(i < sums_.cells() ? i + 1 : i) / scale_;
}

double LogHistogram::edge(int64_t cell) {
  const int64_t code = cell + (int64_t{1023 + kLowest} << kBitsPerOctave);
  return std::bit_cast<double>(uint64_t(code) << (52 - kBitsPerOctave));
}

double LogHistogram::quantile(double p) const {
  if (sums_.total() <= 0) return 0;
  const int64_t i = sums_.cell_of_share(p);
  return i < kCells ? (edge(i) + edge(i + 1)) / 2 : edge(kCells);
}

}  // namespace vramwise::workload
