// Tokens that a few people hold together: the distribution itself, by convolution. The gamma of
// occupancy.h knows three cumulants, which is a percent for fifty people and several for eight
// whose requests differ much (long documents beside short questions).
//
// What one person holds is laid on a lattice, transformed, raised to the number of people and
// transformed back. Sums, products and square roots only: native and WebAssembly agree to the bit.
#pragma once

#include <cstdint>
#include <vector>

#include "workload/lengths.h"
#include "workload/occupancy.h"

namespace vramwise::workload {

class HeldSum {
 public:
  // Beyond so many people the gamma is as good, and the lattice too coarse.
  static constexpr int64_t kMostPeople = 64;

  // The sample outlives this and is not empty. Each person holds `beside` tokens more (the empty
  // part of a last block).
  explicit HeldSum(const std::vector<Pair>& sample, PrefillSteps prefill = {}, double beside = 0);

  // Tokens that `people` (1 to kMostPeople), each there for the share `present` of the time, hold
  // at quantile p.
  double quantile(int64_t people, double p, double present = 1) const;

 private:
  std::vector<double> one_person(double cell) const;  // probability by cell
  void transform(std::vector<double>& re, std::vector<double>& im) const;

  const std::vector<Pair>& sample_;
  PrefillSteps prefill_;
  double beside_;
  double longest_ = 0;
  Held held_;
  std::vector<double> cos_, sin_;  // of whole parts of a turn
};

// Most people whose p-quantile stays within `tokens`, at most `limit`: by HeldSum where they are
// few, by the gamma where they are many.
int64_t users_at(const std::vector<Pair>& sample, double beside, double tokens, double p,
                 int64_t limit);
// ClosedLoop::tokens_at likewise.
double tokens_at(const ClosedLoop& loop, const std::vector<Pair>& sample, double p);

}  // namespace vramwise::workload
