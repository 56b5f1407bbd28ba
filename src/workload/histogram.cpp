#include "workload/histogram.h"

namespace vramwise::workload {

double LinearHistogram::quantile(double p) const {
  if (sum_ <= 0 || scale_ <= 0) return 0;
  const double goal = sum_ * p;
  double height = 0;
  double below = 0;
  const size_t cells = steps_.size() - 1;
  for (size_t i = 0; i < cells; ++i) {
    height += steps_[i];
    below += height;
    // Differences leave rounding dust behind; a share is not read more finely than that.
    if (below >= goal * (1 - 1e-12)) return double(i + 1) / scale_;
  }
  return double(cells) / scale_;
}

void LinearHistogram::merge(const LinearHistogram& other) {
  if (other.steps_.size() != steps_.size()) return;
  for (size_t i = 0; i < steps_.size(); ++i) steps_[i] += other.steps_[i];
  sum_ += other.sum_;
  moment_ += other.moment_;
}

double LogHistogram::edge(int64_t cell) {
  const int64_t code = cell + (int64_t{1023 + kLowest} << kBitsPerOctave);
  return std::bit_cast<double>(uint64_t(code) << (52 - kBitsPerOctave));
}

double LogHistogram::quantile(double p) const {
  if (sum_ <= 0) return 0;
  const double goal = sum_ * p;
  double height = 0;
  double below = 0;
  for (int64_t i = 0; i < kCells; ++i) {
    height += steps_[size_t(i)];
    below += height;
    if (below >= goal * (1 - 1e-12)) return (edge(i) + edge(i + 1)) / 2;
  }
  return edge(kCells);
}

double LogHistogram::share_below(double x) const {
  if (sum_ <= 0) return 1;
  double height = 0;
  double below = 0;
  const int64_t last = cell(x);
  for (int64_t i = 0; i <= last; ++i) {
    height += steps_[size_t(i)];
    below += height;
  }
  return below / sum_;
}

void LogHistogram::merge(const LogHistogram& other) {
  for (size_t i = 0; i < steps_.size(); ++i) steps_[i] += other.steps_[i];
  sum_ += other.sum_;
  moment_ += other.moment_;
}

}  // namespace vramwise::workload
