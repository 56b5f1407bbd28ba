#include "workload/replicas.h"

#include <gtest/gtest.h>

#include "workload/list_source.h"
#include "workload/load.h"
#include "workload/run.h"
#include "workload/step_engine.h"

namespace vramwise::workload {
namespace {

std::vector<Arrival> requests(uint64_t seed, int64_t count, double rate) {
  Random random(seed, Stream::lengths, 0);
  std::vector<Arrival> list;
  double clock = 0;
  for (int64_t i = 0; i < count; ++i) {
    Arrival request;
    clock += random.exponential() / rate;
    request.time = clock;
    request.id = i;
    request.prompt = int32_t(1 + random.below(400));
    request.output = int32_t(1 + random.below(100));
    list.push_back(request);
  }
  return list;
}

Scheduler tight() {
  Scheduler s;
  s.blocks = 200;
  s.max_sequences = 24;
  s.batch_tokens = 512;
  return s;
}

StepTime seconds() {
  StepTime time;
  time.fixed = 0.01;
  time.per_prefill_token = 1e-5;
  time.per_context_token = 1e-7;
  return time;
}

Meter whole(const Scheduler& s) { return Meter(s.blocks, s.max_sequences, -1, 0, {}); }

void expect_same(const Totals& a, const Totals& b) {
  EXPECT_EQ(a.requests, b.requests);
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.preemptions, b.preemptions);
  EXPECT_EQ(a.scheduled_tokens, b.scheduled_tokens);
  EXPECT_EQ(a.peak_running, b.peak_running);
}

// Every request interrupts the server behind a router; what it does is the same.
TEST(Replicas, OneServerBehindARouterIsThatServer) {
  for (const bool stepwise : {false, true}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      Scheduler s = tight();
      s.long_prefill_threshold = stepwise ? 64 : 0;
      const StepTime time = seconds();
      const auto list = requests(seed, 300, 60);
      ListSource alone(list);
      Meter meter = whole(s);
      const auto a = run_engine(s, time, alone, &meter, nullptr, {});
      ASSERT_TRUE(a) << a.error().message;
      ListSource routed(list);
      std::vector<Meter> meters(1, whole(s));
      const auto b = run_replicas(s, time, routed, Router::least_requests, meters, {});
      ASSERT_TRUE(b) << b.error().message;
      expect_same(*a, *b);
      EXPECT_EQ(meter.waited(), meters[0].waited());
      EXPECT_DOUBLE_EQ(meter.ttft().quantile(0.99), meters[0].ttft().quantile(0.99));
      EXPECT_NEAR(a->end, b->end, 1e-9 * a->end);
      ASSERT_GT(a->preemptions, 0);
    }
  }
}

TEST(Replicas, InTurnIsEveryOtherRequest) {
  const Scheduler s = tight();
  const StepTime time = seconds();
  const auto list = requests(5, 600, 25);
  Totals apart;
  for (size_t part : {0, 1}) {
    std::vector<Arrival> mine;
    for (size_t i = part; i < list.size(); i += 2) mine.push_back(list[i]);
    ListSource source(mine);
    const auto totals = run_engine(s, time, source, nullptr, nullptr, {});
    ASSERT_TRUE(totals) << totals.error().message;
    apart.add(*totals);
  }
  ListSource source(list);
  std::vector<Meter> meters(2, whole(s));
  const auto both = run_replicas(s, time, source, Router::round_robin, meters, {});
  ASSERT_TRUE(both) << both.error().message;
  expect_same(apart, *both);
}

// Long requests pile up on a server that only takes its turn.
TEST(Replicas, LeastRequestsWaitLess) {
  const Scheduler s = tight();
  const StepTime time = seconds();
  double queue[2] = {};
  for (const Router router : {Router::round_robin, Router::least_requests}) {
    ListSource source(requests(9, 4000, 75));
    std::vector<Meter> meters(4, whole(s));
    const auto totals = run_replicas(s, time, source, router, meters, {});
    ASSERT_TRUE(totals) << totals.error().message;
    EXPECT_EQ(totals->requests, 4000);
    for (size_t k = 1; k < meters.size(); ++k) meters[0].merge(meters[k]);
    EXPECT_EQ(meters[0].requests(), 4000);
    queue[router == Router::least_requests ? 1 : 0] = meters[0].queue().mean();
  }
  EXPECT_LT(queue[1], 0.9 * queue[0]);
}

// People stay with their server: four servers of 16 are four times one of 16.
TEST(Replicas, PeopleStayWithTheirServer) {
  const Lengths fixed = Lengths::fixed(200, 50);
  workload::Setup setup;
  setup.lengths = &fixed;
  setup.scheduler.blocks = 4000;
  setup.time = seconds();
  setup.requests = 2000;
  Arrivals arrivals;
  arrivals.kind = Arrivals::Kind::closed;
  arrivals.users = 16;
  const auto one = run_load(setup, arrivals);
  ASSERT_TRUE(one) << one.error().message;
  setup.replicas = 4;
  setup.requests = 8000;
  arrivals.users = 64;
  const auto four = run_load(setup, arrivals);
  ASSERT_TRUE(four) << four.error().message;
  EXPECT_NEAR(four->throughput.value, 4 * one->throughput.value, 0.02 * four->throughput.value);
  EXPECT_NEAR(four->meter.mean_running(), 16, 0.5);
  // More servers than people: the rest stand idle and nobody's.
  arrivals.users = 3;
  const auto few = run_load(setup, arrivals);
  ASSERT_TRUE(few) << few.error().message;
  EXPECT_EQ(few->servers, 3);
}

}  // namespace
}  // namespace vramwise::workload
