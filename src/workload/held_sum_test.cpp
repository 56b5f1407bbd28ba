#include "workload/held_sum.h"

#include <gtest/gtest.h>

#include <map>

#include "workload/numbers.h"

namespace vramwise::workload {
namespace {

// Every sum of what `people` hold, by adding one person after the other.
std::map<int64_t, double> by_hand(const std::vector<Pair>& sample, int people, double present) {
  std::map<int64_t, double> one;
  double steps = 0;
  for (const Pair& pair : sample) steps += pair.output;
  one[0] = 1 - present;
  for (const Pair& pair : sample) {
    for (int64_t y = pair.prompt; y < pair.prompt + pair.output; ++y) one[y] += present / steps;
  }
  std::map<int64_t, double> sum = {{0, 1.0}};
  for (int n = 0; n < people; ++n) {
    std::map<int64_t, double> next;
    for (const auto& [a, x] : sum) {
      for (const auto& [b, y] : one) next[a + b] += x * y;
    }
    sum = std::move(next);
  }
  return sum;
}

int64_t quantile_of(const std::map<int64_t, double>& sum, double p) {
  double below = 0;
  for (const auto& [tokens, share] : sum) {
    below += share;
    if (below >= p) return tokens;
  }
  return sum.rbegin()->first;
}

TEST(HeldSum, IsTheDistributionByHand) {
  // Short questions with long answers beside documents with short ones: far from a gamma.
  const std::vector<Pair> sample = {{20, 180}, {30, 60}, {900, 10}, {1400, 25}};
  for (const int people : {1, 2, 3, 4}) {
    for (const double present : {1.0, 0.6}) {
      const auto sum = by_hand(sample, people, present);
      for (const double p : {0.5, 0.9, 0.95, 0.99}) {
        // Between two values of the distribution any answer is right: as far as a small change of
        // p reaches, and two cells.
        const double low = double(quantile_of(sum, p - 0.003));
        const double high = double(quantile_of(sum, std::min(1.0, p + 0.003)));
        const double cell = 2 * (high + 6000) / 4096;
        const double got = HeldSum(sample).quantile(people, p, present);
        EXPECT_GE(got, low - cell) << people << " at " << p << ", there " << present;
        EXPECT_LE(got, high + cell) << people << " at " << p << ", there " << present;
      }
    }
  }
}

// What the gamma misses by some percent where few people differ much, and agrees with it where
// they are many.
TEST(HeldSum, MeetsTheGammaWhereThereAreMany) {
  const std::vector<Pair> sample = {{20, 180}, {30, 60}, {900, 10}, {1400, 25}};
  const Held one = held_by_one(sample);
  const HeldSum sum(sample);
  EXPECT_GT(held_by(one, 2, 0.95) / sum.quantile(2, 0.95) - 1, 0.02);
  EXPECT_NEAR(held_by(one, 64, 0.95) / sum.quantile(64, 0.95), 1, 0.004);
  EXPECT_NEAR(held_by(one, 64, 0.5) / sum.quantile(64, 0.5), 1, 0.004);
}

TEST(HeldSum, UsersAreTheMostThatFit) {
  const std::vector<Pair> sample = {{20, 180}, {30, 60}, {900, 10}, {1400, 25}};
  const HeldSum sum(sample, {}, 8);
  for (const double pool : {100.0, 1500.0, 3000.0, 8000.0, 12000.0}) {
    const int64_t users = users_at(sample, 8, pool, 0.95, 1000);
    if (users > 0) {
      EXPECT_LE(sum.quantile(users, 0.95), pool);
    }
    ASSERT_LT(users, HeldSum::kMostPeople);
    EXPECT_GT(sum.quantile(users + 1, 0.95), pool);
  }
  EXPECT_EQ(users_at(sample, 8, 1e9, 0.95, 3), 3);
  EXPECT_EQ(users_at(sample, 8, 10, 0.95, 1000), 0);
}

}  // namespace
}  // namespace vramwise::workload
