#include "workload/held_sum.h"

#include <algorithm>

#include "workload/numbers.h"

namespace vramwise::workload {
namespace {

constexpr int kBits = 12;
constexpr size_t kCells = size_t{1} << kBits;
constexpr double kHalf = 0.5;

// Evenly over [from, to), whole cells through differences between neighbours.
struct Lattice {
  std::vector<double> points = std::vector<double>(kCells);
  std::vector<double> steps = std::vector<double>(kCells + 1);

  static size_t cell(double x) { return std::min(size_t(std::max(x, 0.0)), kCells - 1); }
  void point(double x, double weight) { points[cell(x)] += weight; }
  void even(double from, double to, double weight) {
    const size_t i = cell(from);
    const size_t j = cell(to);
    if (i == j || to <= from) return point(from, weight);
    const double height = weight / (to - from);
    const double first = height * (double(i + 1) - from);
    const double last = height * (to - double(j));
    points[i] += first;
    points[j] += last;
    if (j == i + 1) return;
    const double each = (weight - first - last) / double(j - i - 1);
    steps[i + 1] += each;
    steps[j] -= each;
  }
};

}  // namespace

HeldSum::HeldSum(const std::vector<Pair>& sample, PrefillSteps prefill, double beside)
    : sample_(sample), prefill_(prefill), beside_(beside), held_(held_by_one(sample, prefill)) {
  for (const Pair& pair : sample) {
    longest_ = std::max(longest_, double(pair.prompt) + double(pair.output));
  }
  // Halves of halves of a turn by the half-angle formulas, all others as products of these.
  cos_.assign(kCells / 2, 1);
  sin_.assign(kCells / 2, 0);
  double c = 0, s = 1;  // a quarter
  for (size_t part = kCells / 4; part > 0; part /= 2) {
    cos_[part] = c;
    sin_[part] = s;
    const double half = square_root((1 + c) * kHalf);
    s = s / (2 * half);
    c = half;
  }
  for (size_t k = 1; k < kCells / 2; ++k) {
    const size_t low = k & (~k + 1);
    const size_t rest = k - low;
    if (rest == 0) continue;
    cos_[k] = cos_[rest] * cos_[low] - sin_[rest] * sin_[low];
    sin_[k] = sin_[rest] * cos_[low] + cos_[rest] * sin_[low];
  }
}

// y = P, …, P+O-1 for a step each, and what a prompt holds while it is computed; as held_by_one.
std::vector<double> HeldSum::one_person(double cell) const {
  Lattice lattice;
  for (const Pair& pair : sample_) {
    const double p = pair.prompt;
    const double o = pair.output;
    const double extra = prefill_.of(p) - 1;
    if (extra > 0) lattice.point(prefill_.held(p) / cell, extra);
    lattice.even((p - kHalf) / cell, (p + o - kHalf) / cell, o);
  }
  double height = 0;
  double total = 0;
  for (size_t i = 0; i < kCells; ++i) {
    height += lattice.steps[i];
    lattice.points[i] += height;
    total += lattice.points[i];
  }
  for (double& x : lattice.points) x /= total;
  return std::move(lattice.points);
}

// In place, of kCells numbers: sums of x_n times turns of -nk/kCells.
void HeldSum::transform(std::vector<double>& re, std::vector<double>& im) const {
  for (size_t i = 1, j = 0; i < kCells; ++i) {
    size_t bit = kCells / 2;
    for (; j & bit; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) {
      std::swap(re[i], re[j]);
      std::swap(im[i], im[j]);
    }
  }
  for (size_t length = 2; length <= kCells; length *= 2) {
    const size_t stride = kCells / length;
    for (size_t start = 0; start < kCells; start += length) {
      for (size_t k = 0; k < length / 2; ++k) {
        const size_t a = start + k;
        const size_t b = a + length / 2;
        const double c = cos_[k * stride];
        const double s = -sin_[k * stride];
        const double x = re[b] * c - im[b] * s;
        const double y = re[b] * s + im[b] * c;
        re[b] = re[a] - x;
        im[b] = im[a] - y;
        re[a] += x;
        im[a] += y;
      }
    }
  }
}

double HeldSum::quantile(int64_t people, double p, double present) const {
  const double n1 = double(people) * present;
  const double n2 = n1 * (1 - present);
  const double mean = n1 * held_.mean;
  const double deviation =
      square_root(std::max(0.0, n1 * held_.variance + n2 * held_.mean * held_.mean));
  // Room for the longest beside the usual rest: what runs over the top would come back at the
  // bottom.
  const double top = mean + 9 * deviation + 4 * held_.mean + longest_;
  const double cell = top / double(kCells);
  std::vector<double> re = one_person(cell);
  std::vector<double> im(kCells);
  transform(re, im);
  // The transform of real numbers is symmetric: half of it says all.
  for (size_t k = 0; k <= kCells / 2; ++k) {
    double x = 1 - present + present * re[k];
    double y = present * im[k];
    double a = 1, b = 0;
    for (int64_t n = people; n > 0; n /= 2) {
      if (n % 2 != 0) {
        const double t = a * x - b * y;
        b = a * y + b * x;
        a = t;
      }
      const double t = x * x - y * y;
      y = 2 * x * y;
      x = t;
    }
    re[k] = a;
    im[k] = -b;  // conjugate: the transform of it is the inverse
    const size_t mirrored = (kCells - k) % kCells;
    re[mirrored] = a;
    if (mirrored != k) im[mirrored] = b;
  }
  transform(re, im);
  // A cell stands for the point in its middle for each who is there.
  double below = 0;
  for (size_t i = 0; i < kCells; ++i) {
    const double here = std::max(0.0, re[i] / double(kCells));
    if (below + here >= p) {
      const double place = double(i) - kHalf + (here > 0 ? (p - below) / here : 0);
      return std::max(0.0, (place + n1 * kHalf) * cell) + n1 * beside_;
    }
    below += here;
  }
  return top + n1 * beside_;
}

int64_t users_at(const std::vector<Pair>& sample, double beside, double tokens, double p,
                 int64_t limit) {
  Held one = held_by_one(sample);
  one.mean += beside;
  int64_t users = users_at(one, tokens, p, limit);
  if (users > HeldSum::kMostPeople || sample.empty()) return users;
  const HeldSum sum(sample, {}, beside);
  const auto fits = [&](int64_t n) { return sum.quantile(n, p) <= tokens; };
  const int64_t most = std::min(limit, HeldSum::kMostPeople);
  // From the gamma's answer on: it is off by a few at most.
  if (users > 0 && !fits(users)) {
    do --users;
    while (users > 0 && !fits(users));
    return users;
  }
  while (users < most && fits(users + 1)) ++users;
  return users;
}

double tokens_at(const ClosedLoop& loop, const std::vector<Pair>& sample, double p) {
  const int64_t people = round_of(loop.users);
  const bool few = people >= 1 && people <= HeldSum::kMostPeople && !sample.empty();
  if (!few || loop.users * loop.in_system_share > loop.most_running) return loop.tokens_at(p);
  return HeldSum(sample, loop.prefill).quantile(people, p, loop.in_system_share);
}

}  // namespace vramwise::workload
