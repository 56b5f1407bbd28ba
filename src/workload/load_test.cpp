#include "workload/load.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "workload/jump_engine.h"
#include "workload/list_source.h"
#include "workload/occupancy.h"
#include "workload/run.h"
#include "workload/step_engine.h"

namespace vramwise::workload {
namespace {

Result<Lengths> lengths_of(std::string_view text) {
  const auto value = json::parse(text, "t");
  Notes notes;
  return Lengths::read(json::Reader(*value, "t"), nullptr, notes);
}

Result<Arrivals> arrivals_of(std::string_view text) {
  const auto value = json::parse(text, "t");
  return Arrivals::read(json::Reader(*value, "t"));
}

TEST(Lengths, ALognormalHasItsQuantiles) {
  const auto l = lengths_of(
      R"({"kind":"lognormal","prompt":{"p50":1020,"p95":4083},"output":{"p50":129,"p95":451}})");
  ASSERT_TRUE(l) << l.error().message;
  EXPECT_NEAR(double(l->quantile_prompt(0.5)), 1020, 2);
  EXPECT_NEAR(double(l->quantile_prompt(0.95)), 4083, 10);
  EXPECT_NEAR(double(l->quantile_output(0.95)), 451, 2);
}

TEST(Lengths, CorrelationIsSpearmans) {
  const auto l = lengths_of(R"({"kind":"lognormal","prompt":{"p50":1020,"p95":4083},
                                "output":{"p50":129,"p95":451},"correlation":-0.5})");
  ASSERT_TRUE(l);
  // Concordant halves of a normal pair: 1/2 + asin(r)/pi with r = 2 sin(pi rho / 6).
  double both = 0;
  for (const Pair& p : l->sample()) {
    both += (p.prompt > 1020) == (p.output > 129) ? 1 : 0;
  }
  EXPECT_NEAR(both / double(l->sample().size()), 0.3267, 0.01);
}

TEST(Lengths, PresetsAreThereAndHaveTheirTracesTails) {
  const auto chat = lengths_of(R"({"kind":"preset","name":"chat"})");
  ASSERT_TRUE(chat) << chat.error().message;
  EXPECT_EQ(chat->rows(), 19366);
  // The trace's own figures: means 1154.7 and 211.1, p99 of the sum 4,259.
  EXPECT_NEAR(chat->mean_prompt(), 1154.7, 25);
  EXPECT_NEAR(chat->mean_output(), 211.1, 5);
  EXPECT_NEAR(double(chat->quantile_total(0.99)), 4259, 130);
  const auto missing = lengths_of(R"({"kind":"preset","name":"chatt"})");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
}

TEST(Lengths, RefusesWhatIsNoDistribution) {
  for (const char* text :
       {R"({"kind":"uniform","prompt":[5,2],"output":[1,2]})",
        R"({"kind":"lognormal","prompt":{"p50":10,"p95":5},"output":{"p50":1,"p95":2}})",
        R"({"kind":"quantiles","prompt":[[0,1],[0.5,1]],"output":[[0,1],[1,2]]})",
        R"({"kind":"quantiles","prompt":[[0,5],[0.5,3],[1,9]],"output":[[0,1],[1,2]]})",
        R"({"kind":"samples","pairs":[]})", R"({"kind":"fixed","prompt":0,"output":1})",
        R"({"kind":"bimodal"})", R"({"prompt":5})"}) {
    EXPECT_FALSE(lengths_of(text)) << text;
  }
}

TEST(Load, RatesAreKept) {
  const Lengths fixed = Lengths::fixed(10, 2);
  for (const char* text : {R"({"kind":"poisson","rate_per_second":20})",
                           R"({"kind":"gamma","rate_per_second":20,"cv":3})",
                           R"({"kind":"schedule","points":[[0,10],[1000,30]]})"}) {
    SCOPED_TRACE(text);
    const auto arrivals = arrivals_of(text);
    ASSERT_TRUE(arrivals) << arrivals.error().message;
    LoadSource source(fixed, *arrivals, nullptr, 20000, 3, 0);
    double last = 0;
    int64_t count = 0;
    while (source.next_time() < kNever) {
      const Arrival a = source.take();
      EXPECT_GE(a.time, last);
      EXPECT_EQ(a.id, count);
      last = a.time;
      ++count;
    }
    EXPECT_NEAR(double(count) / last, 20, 1.6);
  }
}

TEST(Load, ASessionRepeatsAllBeforeIt) {
  const Lengths fixed = Lengths::fixed(100, 50);
  const auto arrivals = arrivals_of(
      R"({"kind":"sessions","rate_per_second":1,"turns":{"mean":4},"think_seconds":5})");
  ASSERT_TRUE(arrivals);
  LoadSource source(fixed, *arrivals, nullptr, 500, 1, 0);
  int64_t turns = 0;
  int64_t later = 0;
  while (source.next_time() < kNever) {
    const Arrival a = source.take();
    ++turns;
    // Turn t has t prompts and t - 1 answers before it.
    EXPECT_EQ((a.prompt - 100) % 150, 0);
    later += a.prompt > 100 ? 1 : 0;
    source.left(a, a.time + 1);
  }
  EXPECT_NEAR(double(turns) / 500, 4, 0.5);
  EXPECT_GT(later, 0);
}

TEST(Load, ATurnOfATraceWaitsForTheOneBefore) {
  const auto trace = read_trace(
      "arrival_seconds,prompt_tokens,output_tokens,session\n0,10,5,a\n1,20,5,a\n2,7,5,b\n", "t");
  ASSERT_TRUE(trace);
  const Lengths fixed = Lengths::fixed(10, 5);
  Arrivals arrivals;
  arrivals.kind = Arrivals::Kind::trace;
  LoadSource source(fixed, arrivals, &*trace, 100, 1, 0);
  const Arrival first = source.take();
  EXPECT_EQ(first.prompt, 10);
  EXPECT_EQ(source.next_time(), 2);  // the second turn is held back
  const Arrival other = source.take();
  EXPECT_EQ(other.prompt, 7);
  EXPECT_EQ(source.next_time(), kNever);
  source.left(first, 30);
  EXPECT_EQ(source.next_time(), 30);
  EXPECT_EQ(source.take().prompt, 20);
}

// A closed loop by formula and by simulation: tokens held and throughput.
TEST(Occupancy, FormulasAgreeWithTheSimulation) {
  const auto l = lengths_of(
      R"({"kind":"lognormal","prompt":{"p50":1020,"p95":4083},"output":{"p50":129,"p95":451}})");
  ASSERT_TRUE(l);
  workload::Setup setup;
  setup.lengths = &*l;
  setup.scheduler.blocks = 200000;
  setup.scheduler.max_sequences = 64;
  setup.time.fixed = 7.5e-3;
  setup.time.per_decode = 1e-5;
  setup.time.per_context_token = 52e-9;
  setup.time.per_prefill_token = 32e-6;
  setup.requests = 30000;
  setup.replications = 1;
  Arrivals closed;
  closed.kind = Arrivals::Kind::closed;
  closed.users = 64;
  const auto run = run_load(setup, closed);
  ASSERT_TRUE(run) << run.error().message;
  const auto loop = closed_loop(l->sample(), linear(setup.time, 64, l->mean_prompt()), 64, 0,
                                setup.scheduler.batch_tokens);
  EXPECT_NEAR(loop.requests_per_second / run->throughput.value, 1, 0.03);
  const Held one = held_by_one(l->sample());
  for (const double p : {0.5, 0.95, 0.99}) {
    EXPECT_NEAR(held_by(one, 64, p) / run->meter.held(p), 1, 0.08) << p;
  }
}

// Long prompts and short answers: the tokens of a step let few run at once, whatever the number of
// people; and people who think hold nothing meanwhile.
TEST(Occupancy, WaitingAndThinkingPeopleHoldNothing) {
  const auto lengths = lengths_of(R"({"kind":"lognormal","prompt":{"p50":1500,"p95":6000},
      "output":{"p50":20,"p95":60}})");
  ASSERT_TRUE(lengths) << lengths.error().message;
  workload::Setup setup;
  setup.lengths = &*lengths;
  setup.scheduler.blocks = 200'000;
  setup.scheduler.max_sequences = 512;
  setup.time.fixed = 0.008;
  setup.time.per_context_token = 5e-8;
  setup.time.per_prefill_token = 3e-5;
  setup.requests = 20'000;
  setup.replications = 2;
  Arrivals arrivals;
  arrivals.kind = Arrivals::Kind::closed;
  for (const double think : {0.0, 120.0}) {
    arrivals.users = 256;
    arrivals.think.kind = think > 0 ? Think::Kind::exponential : Think::Kind::none;
    arrivals.think.mean = think;
    const auto run = run_load(setup, arrivals);
    ASSERT_TRUE(run) << run.error().message;
    const LinearStep step = linear(setup.time, 64, lengths->mean_prompt());
    const auto loop =
        closed_loop(lengths->sample(), step, 256, think, setup.scheduler.batch_tokens);
    const double measured = run->meter.held(0.95);
    EXPECT_NEAR(loop.tokens_at(0.95), measured, 0.15 * measured) << think;
    EXPECT_LT(measured, 0.7 * held_by(held_by_one(lengths->sample()), 256, 0.95)) << think;
  }
}

TEST(Occupancy, AWindowHoldsWhatFitsIntoIt) {
  const std::vector<Pair> sample = {{10, 5}, {100, 1}, {3, 40}, {64, 64}};
  for (const double window : {1.0, 12.0, 50.0, 64.0, 1000.0}) {
    double sum = 0;
    double steps = 0;
    for (const Pair& pair : sample) {
      for (int y = pair.prompt; y < pair.prompt + pair.output; ++y) {
        sum += std::min(double(y), window);
        ++steps;
      }
    }
    EXPECT_NEAR(held_within(sample, window), sum / steps, 1e-9) << window;
  }
}

TEST(Runs, AShortTraceIsMeasuredWhole) {
  const auto trace =
      read_trace("arrival_seconds,prompt_tokens,output_tokens\n0,100,50\n0.1,60,20\n3,50,5\n", "t");
  ASSERT_TRUE(trace);
  const Lengths fixed = Lengths::fixed(100, 50);
  workload::Setup setup;
  setup.lengths = &fixed;
  setup.trace = &*trace;
  setup.scheduler.blocks = 100;
  setup.time.fixed = 0.01;
  Arrivals arrivals;
  arrivals.kind = Arrivals::Kind::trace;
  const auto run = run_load(setup, arrivals);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_TRUE(run->whole);
  EXPECT_EQ(run->meter.requests(), 3);
  EXPECT_EQ(run->meter.finished(), 3);
  EXPECT_NEAR(run->meter.ttft().quantile(0.5), 0.01, 1e-3);
  EXPECT_EQ(run->meter.output_tokens(), 75);
}

// A server that is idle most of the time serves what arrives, not what it could.
TEST(Runs, IdleTimeCounts) {
  const Lengths fixed = Lengths::fixed(100, 10);
  for (const bool stepwise : {false, true}) {
    workload::Setup setup;
    setup.lengths = &fixed;
    setup.scheduler.blocks = 1000;
    setup.scheduler.prefix_caching = stepwise;
    setup.time.fixed = 0.01;  // a request takes 0.1 s
    setup.requests = 4000;
    setup.replications = 1;
    Arrivals arrivals;
    arrivals.rate = 1;
    const auto run = run_load(setup, arrivals);
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_NEAR(run->throughput.value, 1, 0.05);
    EXPECT_NEAR(run->meter.mean_running(), 0.1, 0.01);  // Little's law
    EXPECT_LT(run->meter.occupancy().quantile(0.5), 1);
  }
}

// Bursts make p99 hard to know: repetitions are added until it is, or until the limit.
TEST(Runs, AreLengthenedUntilTheirFiguresAreKnown) {
  const Lengths fixed = Lengths::fixed(200, 50);
  workload::Setup setup;
  setup.lengths = &fixed;
  setup.scheduler.blocks = 4000;
  setup.time.fixed = 0.01;
  setup.time.per_prefill_token = 1e-4;
  setup.requests = 1000;
  Arrivals arrivals;
  arrivals.rate = 20;
  arrivals.cv = 2;
  const auto few = run_load(setup, arrivals);
  ASSERT_TRUE(few) << few.error().message;
  EXPECT_EQ(few->replications, 8);
  ASSERT_GT(few->uncertainty(), 0.03);
  setup.precision = 0.03;
  setup.most_requests = 1'000'000;
  const auto known = run_load(setup, arrivals);
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_GT(known->replications, 8);
  EXPECT_LE(known->uncertainty(), 0.03);
  setup.most_requests = 12'000;
  const auto limited = run_load(setup, arrivals);
  ASSERT_TRUE(limited) << limited.error().message;
  EXPECT_EQ(limited->replications, 12);
}

TEST(Runs, FarTooMuchIsMeasuredWhole) {
  const Lengths fixed = Lengths::fixed(100, 50);
  workload::Setup setup;
  setup.lengths = &fixed;
  setup.scheduler.blocks = 100;
  setup.time.fixed = 0.01;
  setup.requests = 2000;
  setup.replications = 2;
  Arrivals arrivals;
  arrivals.rate = 1e5;
  const auto run = run_load(setup, arrivals);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_TRUE(run->whole);
  EXPECT_EQ(run->replications, 2);
  EXPECT_EQ(run->meter.finished(), 4000);
  setup.slo.ttft = 1;
  const auto goodput = find_goodput(setup, arrivals, 1e5);
  ASSERT_TRUE(goodput) << goodput.error().message;
  EXPECT_LT(goodput->rate, 1e4);
}

TEST(Runs, WhatAPrefixCacheHoldsIsNotComputed) {
  const auto l = lengths_of(R"({"kind":"fixed","prompt":1000,"output":10,"hit_share":0.75})");
  ASSERT_TRUE(l);
  for (const Policy policy : {Policy::decode_first, Policy::prefill_first, Policy::slots}) {
    workload::Setup setup;
    setup.lengths = &*l;
    setup.scheduler.policy = policy;
    setup.scheduler.blocks = 10000;
    setup.time.fixed = 0.01;
    setup.time.per_prefill_token = 1e-4;
    setup.requests = 500;
    setup.replications = 1;
    Arrivals alone;
    alone.kind = Arrivals::Kind::closed;
    alone.users = 1;
    const auto run = run_load(setup, alone);
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_NEAR(run->meter.ttft().mean(), 0.01 + 250e-4, 1e-9);
    EXPECT_EQ(run->meter.hit_tokens() * 4, run->meter.prompt_tokens() * 3);
    EXPECT_EQ(run->meter.recomputed_tokens(), 0);
    // All of it is stored.
    EXPECT_EQ(run->totals.peak_blocks, (1000 + 9 + 15) / 16);
  }
}

TEST(Lengths, TwoWordsForAPrefixAreRefused) {
  const auto l = lengths_of(
      R"({"kind":"fixed","prompt":10,"output":1,"hit_share":0.5,"prefix":{"shared_tokens":5}})");
  ASSERT_FALSE(l);
  EXPECT_EQ(l.error().code, ErrorCode::inconsistent);
}

TEST(Engines, StopWhenTheyAreTold) {
  const Lengths fixed = Lengths::fixed(100, 50);
  for (const bool stepwise : {false, true}) {
    workload::Setup setup;
    setup.lengths = &fixed;
    setup.scheduler.blocks = 10000;
    setup.scheduler.prefix_caching = stepwise;
    setup.time.fixed = 0.01;
    setup.requests = 1000000;
    setup.replications = 4;
    int calls = 0;
    setup.limits.context = &calls;
    setup.limits.keep_going = [](void* context, int64_t) {
      return ++*static_cast<int*>(context) < 3;
    };
    Arrivals arrivals;
    arrivals.rate = 10;
    const auto run = run_load(setup, arrivals);
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_TRUE(run->stopped);
    EXPECT_EQ(run->replications, 1);
    EXPECT_LT(run->totals.requests, 1000000);
  }
}

TEST(Policies, AdmissionThatReservesAnswersNeverEvicts) {
  const auto l = lengths_of(R"({"kind":"uniform","prompt":[10,200],"output":[10,400]})");
  ASSERT_TRUE(l);
  for (const bool reserve : {false, true}) {
    workload::Setup setup;
    setup.lengths = &*l;
    setup.scheduler.blocks = 200;
    setup.scheduler.reserve_output = reserve;
    setup.time.fixed = 0.01;
    setup.requests = 2000;
    setup.replications = 1;
    Arrivals arrivals;
    arrivals.kind = Arrivals::Kind::closed;
    arrivals.users = 64;
    const auto run = run_load(setup, arrivals);
    ASSERT_TRUE(run) << run.error().message;
    if (reserve) {
      EXPECT_EQ(run->totals.preemptions, 0);
    } else {
      EXPECT_GT(run->totals.preemptions, 0);
    }
  }
}

// The published effect of a watermark on a saturated pool (vllm pull request 44594: Qwen2.5-7B on a
// GB200, 299,584 tokens, 450 prompts of about 1,000 with about 5,000 answered, 128 at once).
// A slot keeps prompt and answer, all but the last token, and gives them to whom they suit.
TEST(Policies, ASlotKeepsItsText) {
  Scheduler s;
  s.policy = Policy::slots;
  s.block_tokens = 1;
  s.blocks = 4000;
  s.max_sequences = 2;
  s.prefix_caching = true;
  // Two conversations; the second turn of the first repeats its 100 + 50 tokens; somebody else; the
  // third turn finds its text gone if a slot had to be given away for it.
  const auto turn = [](double time, int32_t prompt, int64_t stream, int64_t id) {
    return Arrival{.time = time,
                   .prompt = prompt,
                   .output = 50,
                   .id = id,
                   .stream = stream,
                   .stream_tokens = int64_t{1} << 40};
  };
  const std::vector<Arrival> requests = {turn(0, 100, 1, 0),   turn(100, 300, 2, 1),
                                         turn(200, 180, 1, 2), turn(300, 400, 3, 3),
                                         turn(400, 260, 1, 4), turn(500, 380, 2, 5)};
  ListSource source(requests);
  struct Sink final : FateSink {
    std::vector<int64_t> hits = std::vector<int64_t>(6);
    void left(const Fate& f) override { hits[size_t(f.request.id)] = f.hit_tokens; }
  } sink;
  const auto totals = run_stepwise(s, StepTime{}, source, nullptr, &sink);
  ASSERT_TRUE(totals) << totals.error().message;
  // The third conversation took the slot of the second, which had idled longest.
  EXPECT_EQ(sink.hits, (std::vector<int64_t>{0, 0, 149, 0, 229, 0}));
}

// Drafts: a step computes them all, the answer grows by those that are accepted in a row.
TEST(Policies, DraftsShortenAnswersByWhatIsAccepted) {
  for (const Policy policy : {Policy::decode_first, Policy::prefill_first, Policy::slots}) {
    for (const double acceptance : {0.0, 0.6, 1.0}) {
      Scheduler s;
      s.policy = policy;
      s.blocks = 100'000;
      s.max_sequences = 4;
      s.draft_tokens = 3;
      s.acceptance = acceptance;
      ASSERT_FALSE(can_jump(s));
      std::vector<Arrival> requests;
      for (int64_t i = 0; i < 200; ++i) {
        requests.push_back({.time = double(i) * 5000, .prompt = 100, .output = 401, .id = i});
      }
      ListSource source(requests);
      Meter meter(s.blocks, s.max_sequences, -1, 0, {});
      const auto totals = run_stepwise(s, StepTime{}, source, &meter, nullptr);
      ASSERT_TRUE(totals) << totals.error().message;
      // A prompt's step makes the first token, the other 400 follow.
      const double steps = double(totals->steps) / 200 - 1;
      EXPECT_NEAR(steps, 400 / s.made_per_step(), 0.02 * steps) << to_string(policy);
      EXPECT_EQ(totals->scheduled_tokens, 200 * 100 + (totals->steps - 200) * 4);
      EXPECT_EQ(meter.output_tokens(), 200 * 401);
      EXPECT_EQ(meter.recomputed_tokens(), 0);
    }
  }
}

TEST(Engines, AWatermarkCutsPreemptionsAsPublished) {
  const struct {
    double share;
    double published;
  } kCases[] = {{0, 1065}, {0.02, 400}, {0.05, 187}, {0.10, 168}, {0.15, 168}};
  const auto l = lengths_of(R"({"kind":"uniform","prompt":[800,1200],"output":[4000,6000]})");
  ASSERT_TRUE(l);
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.share);
    double preemptions = 0;
    constexpr int kSeeds = 8;
    for (int seed = 0; seed < kSeeds; ++seed) {
      Scheduler s;
      s.blocks = 18724;
      s.watermark_blocks = int64_t(c.share * 18724);
      StepTime time;
      time.fixed = 3.6e-3;
      time.per_context_token = 57344 / (8e12 * 0.6);
      time.per_prefill_token = 2 * 7.6e9 / (2500e12 * 0.5);
      Arrivals arrivals;
      arrivals.kind = Arrivals::Kind::closed;
      arrivals.users = 128;
      LoadSource source(*l, arrivals, nullptr, 450, uint64_t(seed), 0);
      const auto totals = run_jumping(s, time, source, nullptr, nullptr);
      ASSERT_TRUE(totals);
      preemptions += double(totals->preemptions) / kSeeds;
    }
    // Only the scale of the step time is ours; the seeds' own range is about 10 %.
    EXPECT_NEAR(preemptions / c.published, 1, c.share == 0.05 ? 0.35 : 0.2) << preemptions;
  }
}

}  // namespace
}  // namespace vramwise::workload
