// The two engines of src/workload are written from the same rules and share no code: on random
// small scenarios they have to agree event for event.
#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "workload/jump_engine.h"
#include "workload/list_source.h"
#include "workload/random.h"
#include "workload/step_engine.h"

namespace vramwise::workload {
namespace {

// With the sanitizers a scenario costs ten times as much.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VRAMWISE_SANITIZED
#endif
#endif
#ifdef VRAMWISE_SANITIZED
constexpr int kScenarios = 1500;
#else
constexpr int kScenarios = 10000;
#endif

struct Scenario {
  Scheduler scheduler;
  StepTime time;
  std::vector<Arrival> requests;
};

int64_t pick(Random& random, std::initializer_list<int64_t> values) {
  return values.begin()[random.below(values.size())];
}

// Small pools and budgets, so that every rule comes to bear: evictions, chunks, full budgets,
// watermarks, requests that are too large.
Scenario random_scenario(uint64_t seed) {
  Random random(seed, Stream::order);
  Scenario c;
  const int64_t bs = pick(random, {1, 2, 3, 4, 8, 16});
  const int64_t count = 1 + int64_t(random.below(24));
  const int64_t longest_prompt = pick(random, {8, 40, 120});
  const int64_t longest_output = pick(random, {4, 30, 90});
  const bool linear = random.below(2) == 1;
  const int64_t spread = linear && random.below(2) == 1 ? 700 : 1;
  const bool cached = random.below(3) == 0;
  int64_t time = 0;
  int64_t largest = 1;
  int64_t longest = 1;
  for (int64_t i = 0; i < count; ++i) {
    if (random.below(5) >= 3) time += int64_t(random.below(random.below(2) == 1 ? 7 : 81));
    Arrival r;
    r.id = i;
    r.time = double(time * spread);
    r.prompt = int32_t(1 + random.below(uint64_t(longest_prompt)));
    r.output = int32_t(1 + random.below(uint64_t(longest_output)));
    if (cached) r.cached = int32_t(random.below(uint64_t(r.prompt) + 1));
    largest = std::max(largest, (r.prompt + r.output - 1 + bs - 1) / bs);
    longest = std::max<int64_t>(longest, r.prompt + r.output);
    c.requests.push_back(r);
  }
  Scheduler& s = c.scheduler;
  s.block_tokens = bs;
  s.max_sequences = pick(random, {1, 2, 4, 8, 64});
  s.batch_tokens = std::max(s.max_sequences, pick(random, {1, 3, 8, 16, 64, 256}));
  s.chunked_prefill = random.below(20) < 17;
  if (!s.chunked_prefill) s.batch_tokens = std::max(s.batch_tokens, longest);
  s.blocks = std::max<int64_t>(1, largest * pick(random, {8, 10, 10, 13, 20, 40, 500}) / 10);
  s.reserve_full_prompt = random.below(10) < 7;
  s.watermark_blocks = pick(random, {0, 0, 1, 3});
  if (linear) {
    // Whole numbers: sums are exact in both engines, however they are grouped.
    c.time.fixed = double(1 + random.below(5000));
    c.time.per_context_token = double(pick(random, {0, 1, 3, 40}));
    c.time.per_prefill_token = double(random.below(50));
    c.time.per_decode = double(random.below(10));
    c.time.per_prefill_pair = double(random.below(2));
  }
  return c;
}

class Fates final : public FateSink {
 public:
  explicit Fates(size_t count) : list(count) {}
  void left(const Fate& fate) override { list[size_t(fate.request.id)] = fate; }
  std::vector<Fate> list;
};

std::string describe(const Fate& f) {
  std::ostringstream text;
  text << "rejected " << f.rejected << " admit " << f.admit << " first " << f.first << " finish "
       << f.finish << " preemptions " << f.preemptions << " hits " << f.hit_tokens << " computed "
       << f.computed_tokens << " waited " << f.waited;
  return text.str();
}

std::string describe(const Totals& t) {
  std::ostringstream text;
  text << "steps " << t.steps << " rejected " << t.rejected << " peak " << t.peak_blocks << " "
       << t.peak_running << " " << t.peak_waiting << " preemptions " << t.preemptions << " tokens "
       << t.scheduled_tokens << " block steps " << t.block_steps << " end " << t.end;
  return text.str();
}

TEST(WorkloadProperty, BothEnginesAgreeOnEveryEvent) {
  int64_t preemptions = 0;
  int64_t moves = 0;
  int64_t steps = 0;
  for (int seed = 1; seed <= kScenarios; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Scenario c = random_scenario(uint64_t(seed));
    ListSource for_steps(c.requests);
    ListSource for_jumps(c.requests);
    Fates by_steps(c.requests.size());
    Fates by_jumps(c.requests.size());
    const auto a = run_stepwise(c.scheduler, c.time, for_steps, nullptr, &by_steps);
    const auto b = run_jumping(c.scheduler, c.time, for_jumps, nullptr, &by_jumps);
    ASSERT_TRUE(a.has_value()) << a.error().message;
    ASSERT_TRUE(b.has_value()) << b.error().message;
    ASSERT_EQ(describe(*a), describe(*b));
    for (size_t i = 0; i < c.requests.size(); ++i) {
      ASSERT_EQ(describe(by_steps.list[i]), describe(by_jumps.list[i])) << "request " << i;
    }
    preemptions += a->preemptions;
    steps += b->steps;
    moves += b->moves;
  }
  // The scenarios have to be hard, and the jumps have to jump.
  EXPECT_GT(preemptions, kScenarios);
  EXPECT_LT(moves * 2, steps);
}

// free + held = pool at every move is what the engines' own sums rest on; seen from outside: the
// pool is never overdrawn, and tokens are conserved when nobody is evicted.
TEST(WorkloadProperty, TokensAreConserved) {
  for (int seed = 1; seed <= kScenarios / 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Scenario c = random_scenario(uint64_t(seed) + 1000000);
    ListSource source(c.requests);
    Fates fates(c.requests.size());
    const auto totals = run_jumping(c.scheduler, c.time, source, nullptr, &fates);
    ASSERT_TRUE(totals.has_value());
    EXPECT_LE(totals->peak_blocks, c.scheduler.blocks);
    int64_t computed = 0;
    int64_t least = 0;
    for (const Fate& f : fates.list) {
      if (f.rejected) continue;
      computed += f.computed_tokens;
      least += f.request.prompt + f.request.output - 1 - f.hit_tokens;
      EXPECT_GE(f.admit, f.request.time);
      EXPECT_GT(f.first, f.admit);
      EXPECT_GE(f.finish, f.first);
    }
    EXPECT_EQ(computed, totals->scheduled_tokens);
    if (totals->preemptions == 0) {
      EXPECT_EQ(computed, least);
    } else {
      EXPECT_GT(computed, least);
    }
  }
}

// Text that is found again may only save work: what is hit is not computed. vLLM and SGLang find
// whole blocks, a slot of llama.cpp any start of the text it was left with.
TEST(WorkloadProperty, PrefixHitsAreWorkSaved) {
  for (const Policy policy : {Policy::decode_first, Policy::prefill_first, Policy::slots}) {
    int64_t hits = 0;
    for (int seed = 1; seed <= kScenarios / 10; ++seed) {
      SCOPED_TRACE(std::string(to_string(policy)) + " seed " + std::to_string(seed));
      Scenario c = random_scenario(uint64_t(seed) + 2000000);
      c.scheduler.policy = policy;
      c.scheduler.prefix_caching = true;
      c.scheduler.unified = seed % 2 == 0;
      c.scheduler.prefill_tokens = c.scheduler.batch_tokens;
      for (Arrival& r : c.requests) {
        r.cached = 0;
        r.stream = r.id % 3 == 0 ? -1 : r.id % 2;
        r.stream_tokens = r.prompt;
      }
      ListSource source(c.requests);
      Fates fates(c.requests.size());
      const auto totals = run_stepwise(c.scheduler, c.time, source, nullptr, &fates);
      ASSERT_TRUE(totals.has_value()) << totals.error().message;
      EXPECT_LE(totals->peak_blocks, c.scheduler.blocks);
      for (const Fate& f : fates.list) {
        if (f.rejected) continue;
        hits += f.hit_tokens;
        if (policy != Policy::slots) {
          EXPECT_EQ(f.hit_tokens % c.scheduler.block_tokens, 0);
        }
        EXPECT_LT(f.hit_tokens, f.request.prompt);
        EXPECT_GE(f.finish, f.first);
        if (f.preemptions == 0) {
          EXPECT_EQ(f.hit_tokens + f.computed_tokens, f.request.prompt + f.request.output - 1);
        }
      }
    }
    EXPECT_GT(hits, 0) << to_string(policy);
  }
}

// The other policies, and drafts in all: everything that fits finishes, and no cell is used twice.
TEST(WorkloadProperty, OtherPoliciesFinishEverything) {
  for (const Policy policy : {Policy::decode_first, Policy::prefill_first, Policy::slots}) {
    for (int seed = 1; seed <= kScenarios / 10; ++seed) {
      SCOPED_TRACE(std::string(to_string(policy)) + " seed " + std::to_string(seed));
      Scenario c = random_scenario(uint64_t(seed) + 3000000);
      c.scheduler.policy = policy;
      c.scheduler.unified = seed % 2 == 0;
      c.scheduler.draft_tokens = seed % 3;
      c.scheduler.acceptance = 0.1 * double(seed % 11);
      c.scheduler.prefill_tokens = c.scheduler.batch_tokens;
      ListSource source(c.requests);
      Fates fates(c.requests.size());
      const auto totals = run_stepwise(c.scheduler, c.time, source, nullptr, &fates);
      ASSERT_TRUE(totals.has_value()) << totals.error().message;
      EXPECT_LE(totals->peak_blocks, c.scheduler.blocks);
      for (const Fate& f : fates.list) {
        if (!f.rejected) {
          EXPECT_GE(f.finish, f.first);
        }
      }
    }
  }
}

}  // namespace
}  // namespace vramwise::workload
