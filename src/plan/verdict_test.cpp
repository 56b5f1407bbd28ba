#include "plan/verdict.h"

#include <gtest/gtest.h>

namespace vramwise::plan {
namespace {

using engines::Requirement;

Requirement bytes(Requirement::Kind kind, ByteRange needed, ByteRange available) {
  Requirement r;
  r.kind = kind;
  r.what = "kv_cache";
  r.needed = needed;
  r.available = available;
  r.explanation = "because";
  return r;
}

ByteRange range(int64_t low, int64_t likely, int64_t high) {
  return {GiB(low), GiB(likely), GiB(high)};
}

engines::Assessment with(std::vector<Requirement> requirements) {
  engines::Assessment assessment;
  assessment.requirements = std::move(requirements);
  return assessment;
}

TEST(Verdict, FitsOnlyWherePessimismFits) {
  const auto fits =
      judge(with({bytes(Requirement::Kind::out_of_memory, range(8, 9, 10), range(10, 11, 12))}));
  EXPECT_EQ(fits.outcome, Outcome::fits);
  EXPECT_TRUE(fits.starts);
  EXPECT_EQ(fits.binding, "kv_cache");
  const auto tight =
      judge(with({bytes(Requirement::Kind::out_of_memory, range(8, 9, 11), range(10, 11, 12))}));
  EXPECT_EQ(tight.outcome, Outcome::tight);
  EXPECT_TRUE(tight.starts);
}

TEST(Verdict, KindsOfNo) {
  const auto refused =
      judge(with({bytes(Requirement::Kind::engine_refuses, range(9, 9, 9), range(5, 6, 7))}));
  EXPECT_EQ(refused.outcome, Outcome::refuses_to_start);
  EXPECT_FALSE(refused.starts);
  EXPECT_EQ(refused.shortfall, GiB(3));
  const auto memory =
      judge(with({bytes(Requirement::Kind::out_of_memory, range(9, 9, 9), range(5, 6, 7))}));
  EXPECT_EQ(memory.outcome, Outcome::does_not_fit);
  EXPECT_FALSE(memory.starts);
  const auto load =
      judge(with({bytes(Requirement::Kind::workload, range(9, 9, 9), range(5, 6, 7))}));
  EXPECT_EQ(load.outcome, Outcome::does_not_fit);
  EXPECT_TRUE(load.starts);
}

TEST(Verdict, ADecisiveNoBeatsAnEarlierDoubt) {
  const auto verdict =
      judge(with({bytes(Requirement::Kind::engine_refuses, range(8, 9, 11), range(10, 11, 12)),
                  bytes(Requirement::Kind::workload, range(9, 9, 9), range(5, 6, 7))}));
  EXPECT_EQ(verdict.outcome, Outcome::does_not_fit);
}

TEST(Verdict, ARefusalComesFirst) {
  auto assessment = with({});
  assessment.refusals.push_back({"tensor_parallel", "heads 40 must be divisible by 3", "why"});
  EXPECT_EQ(judge(assessment).outcome, Outcome::refuses_to_start);
}

}  // namespace
}  // namespace vramwise::plan
