#include "workload/numbers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "workload/histogram.h"
#include "workload/random.h"

namespace vramwise::workload {
namespace {

TEST(Numbers, AgreeWithTheLibrary) {
  for (double x = -30; x <= 30; x += 0.137) {
    EXPECT_NEAR(exp_of(x) / std::exp(x), 1, 2e-14) << x;
  }
  for (double x = 1e-9; x < 1e12; x *= 1.37) {
    EXPECT_NEAR(log_of(x), std::log(x), 3e-14 * std::fmax(1, std::fabs(std::log(x)))) << x;
  }
  for (double x = -1.57; x <= 1.57; x += 0.01) EXPECT_NEAR(sin_of(x), std::sin(x), 1e-14);
  for (double z = -7.5; z <= 7.5; z += 0.05) {
    EXPECT_NEAR(normal_cdf(z) / (0.5 * std::erfc(-z / std::sqrt(2.0))), 1, 1e-9) << z;
    EXPECT_NEAR(inverse_normal(normal_cdf(z)), z, std::fabs(z) < 5 ? 1e-9 : 1e-3) << z;
  }
  EXPECT_NEAR(inverse_normal(0.975), 1.959963984540054, 1e-13);
  EXPECT_NEAR(inverse_normal(1e-30), -11.464024688443617, 1e-12);
  EXPECT_EQ(round_of(2.5), 3);
  EXPECT_EQ(round_of(-2.5), -2);
  EXPECT_EQ(ceil_of(2.0), 2);
  EXPECT_EQ(ceil_of(2.1), 3);
  EXPECT_EQ(ceil_of(-2.1), -2);
}

// The generator's own figures: these integers are part of what "the same seed" means, so a change
// here is a change of every simulated answer.
TEST(Random, DrawsTheSameIntegersForEver) {
  Random lengths(1, Stream::lengths);
  Random arrivals(1, Stream::arrivals);
  const uint64_t a = lengths.bits();
  const uint64_t b = arrivals.bits();
  EXPECT_NE(a, b);
  EXPECT_EQ(Random(1, Stream::lengths).bits(), a);
  EXPECT_NE(Random(2, Stream::lengths).bits(), a);
  EXPECT_NE(Random(1, Stream::lengths, 1).bits(), a);
}

TEST(Random, MomentsAreThoseOfTheDistributions) {
  Random random(7, Stream::arrivals);
  constexpr int kDraws = 200000;
  double exponential = 0, normal = 0, normal_square = 0, gamma = 0, gamma_square = 0, below = 0;
  for (int i = 0; i < kDraws; ++i) {
    exponential += random.exponential();
    const double z = random.normal();
    normal += z;
    normal_square += z * z;
    const double g = random.gamma(0.25);
    gamma += g;
    gamma_square += g * g;
    below += double(random.below(10));
  }
  EXPECT_NEAR(exponential / kDraws, 1, 0.01);
  EXPECT_NEAR(normal / kDraws, 0, 0.01);
  EXPECT_NEAR(normal_square / kDraws, 1, 0.01);
  EXPECT_NEAR(gamma / kDraws, 0.25, 0.01);
  // Second moment of a gamma: shape + shape^2.
  EXPECT_NEAR(gamma_square / kDraws, 0.3125, 0.02);
  EXPECT_NEAR(below / kDraws, 4.5, 0.03);
}

TEST(Histogram, QuantilesLieInTheirCells) {
  LogHistogram log;
  LinearHistogram linear(1000, 1000);
  for (int i = 1; i <= 1000; ++i) {
    log.add(i * 1e-3, 1);
    linear.add(i - 0.5, 1);
  }
  EXPECT_NEAR(log.quantile(0.5), 0.5, 0.005);
  EXPECT_NEAR(log.quantile(0.99), 0.99, 0.009);
  EXPECT_NEAR(log.mean(), 0.5005, 1e-9);
  EXPECT_NEAR(log.share_below(0.25), 0.25, 0.003);
  EXPECT_NEAR(linear.quantile(0.95), 950, 1.01);
}

TEST(Histogram, ARampIsTheSumOfItsPoints) {
  LinearHistogram ramp(100, 100);
  LinearHistogram points(100, 100);
  ramp.ramp(10.5, 49.5, 40);
  for (int i = 10; i < 50; ++i) points.add(i + 0.5, 1);
  for (const double p : {0.1, 0.5, 0.9, 0.99}) EXPECT_EQ(ramp.quantile(p), points.quantile(p));
  EXPECT_NEAR(ramp.mean(), points.mean(), 1e-9);
}

// Cells of an octave are twice as wide as those of the octave before: a ramp through several of
// them is as even as its points.
TEST(Histogram, ARampThroughOctavesIsTheSumOfItsPoints) {
  LogHistogram ramp;
  LogHistogram points;
  ramp.ramp(3, 19, 1600);
  for (int i = 0; i < 1600; ++i) points.add(3 + (i + 0.5) / 100, 1);
  for (const double p : {0.05, 0.25, 0.5, 0.8, 0.95}) {
    EXPECT_NEAR(ramp.quantile(p), 3 + 16 * p, 0.008 * (3 + 16 * p));
    EXPECT_NEAR(ramp.quantile(p), points.quantile(p), 0.008 * points.quantile(p));
  }
  EXPECT_NEAR(ramp.total(), points.total(), 1e-9);
  EXPECT_NEAR(ramp.mean(), points.mean(), 1e-9);
}

}  // namespace
}  // namespace vramwise::workload
