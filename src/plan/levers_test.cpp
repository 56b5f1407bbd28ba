// The list of changes is as good as trying every set, says how to check each, and names the cards
// where no change is enough.
#include "plan/levers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "json/parse.h"
#include "plan/cards.h"
#include "plan/lever_trial.h"
#include "plan/request.h"

namespace vramwise::plan {
namespace {

Plan planned(std::string_view text) {
  const auto request = json::parse(text, "request");
  EXPECT_TRUE(request) << text;
  const auto question = read_request(json::Reader(*request, "request"));
  EXPECT_TRUE(question) << text;
  auto plan = make_plan(*question);
  EXPECT_TRUE(plan) << text;
  return std::move(*plan);
}

// Short of a little, of much, and refused whatever the memory.
const char* const kShort[] = {
    R"({"model":{"ref":"Qwen/Qwen3-32B"},"engine":{"name":"vllm"},"hardware":{"gpu":"h100-sxm"},
        "workload":{"sequence_tokens":16384,"concurrency":6}})",
    R"({"model":{"ref":"Qwen/Qwen3-8B"},"engine":{"name":"sglang"},"hardware":{"gpu":"rtx-4090"},
        "workload":{"sequence_tokens":16384,"concurrency":6}})",
    R"({"model":{"ref":"Qwen/Qwen3-30B-A3B"},"weights":"fp8","hardware":{"gpu":"h100-sxm","count":4},
        "engine":{"name":"vllm","options":{"tensor_parallel_size":4}}})",
    R"({"model":{"ref":"Qwen/Qwen3-8B"},"weights":"Q8_0","engine":{"name":"llama.cpp"},
        "hardware":{"gpu":"rtx-3060-12"},"workload":{"sequence_tokens":32768,"concurrency":1}})",
};

// Every set of up to three proposed changes: none reaches the goal at less cost than the first.
TEST(Levers, TheFirstIsTheCheapestSetThatReachesTheGoal) {
  for (const char* text : kShort) {
    const Plan plan = planned(text);
    ASSERT_NE(plan.verdict.outcome, Outcome::fits) << text;
    ASSERT_FALSE(plan.levers.empty()) << text;
    ASSERT_TRUE(reaches(plan.levers.front())) << text;
    const auto candidates = plan.resolved.engine->levers(plan.resolved.question(), plan.assessment);
    Trial trial(plan.resolved, plan.assessment);
    int cheapest = 1 << 30;
    const auto attempt = [&](const Changes& set) {
      if (cost_of(set) >= cheapest) return;
      const auto lever = trial.attempt(set);
      if (lever && reaches(*lever)) cheapest = cost_of(set);
    };
    const auto other = [](const auto& a, const auto& b) { return a.id != b.id; };
    for (const auto& a : candidates) {
      attempt({&a});
      for (const auto& b : candidates) {
        if (&b <= &a || !other(a, b)) continue;
        attempt({&a, &b});
        for (const auto& c : candidates) {
          if (&c > &b && other(a, c) && other(b, c)) attempt({&a, &b, &c});
        }
      }
    }
    EXPECT_EQ(plan.levers.front().order, cheapest) << text << plan.levers.front().change;
  }
}

TEST(Levers, WhatReachesTheGoalComesFirstAndIsCheapestFirst) {
  for (const char* text : kShort) {
    const Plan plan = planned(text);
    for (size_t i = 1; i < plan.levers.size(); ++i) {
      const Lever &a = plan.levers[i - 1], &b = plan.levers[i];
      EXPECT_GE(reaches(a), reaches(b)) << text;
      if (reaches(a) == reaches(b) && a.after.outcome == b.after.outcome &&
          asks_less(a) == asks_less(b) && reaches(a)) {
        EXPECT_LE(a.order, b.order) << text;
      }
    }
  }
}

// The figure of the log is enough where the goal is reached, and is what the plan with the change
// predicts.
TEST(Levers, TheCheckHoldsWhereTheGoalIsReached) {
  int checked = 0;
  for (const char* text : kShort) {
    for (const Lever& lever : planned(text).levers) {
      ASSERT_TRUE(lever.check) << text << lever.change;
      if (!reaches(lever)) continue;
      EXPECT_GE(lever.check->expected, lever.check->least) << text << lever.change;
      ++checked;
    }
  }
  EXPECT_GE(checked, 8);
}

// Memory does not help against a refusal that has nothing to do with it.
TEST(Levers, ARefusalIsNotAnsweredWithMemory) {
  const Plan plan = planned(kShort[2]);
  ASSERT_EQ(plan.verdict.binding, "tensor_parallel");
  EXPECT_EQ(plan.levers.front().ids, std::vector<std::string>{"enable_expert_parallel"});
  for (const Lever& lever : plan.levers) {
    EXPECT_NE(lever.after.outcome, Outcome::refuses_to_start) << lever.change;
  }
}

// A length beyond what the model reads: the one it reads, not more memory.
TEST(Levers, ALengthThatTheModelDoesNotReadIsCutToTheOneItReads) {
  const Plan plan = planned(
      R"({"model":{"ref":"Qwen/Qwen3-8B"},"hardware":{"gpu":"h200-sxm"},
          "engine":{"name":"vllm","options":{"max_model_len":65536}}})");
  ASSERT_EQ(plan.verdict.outcome, Outcome::refuses_to_start);
  ASSERT_FALSE(plan.levers.empty());
  EXPECT_EQ(plan.levers.front().ids, std::vector<std::string>{"max_model_len"});
  EXPECT_NE(plan.levers.front().option.find("--max-model-len 40960"), std::string::npos);
  EXPECT_EQ(plan.levers.front().after.outcome, Outcome::fits);
}

// "Decrease GPU memory utilization", says vLLM: to the largest share in whole percent that fits,
// the capture of the graphs beside it included.
TEST(Levers, AShareThatIsNotFreeIsLoweredToTheLargestThatFits) {
  for (const std::string gpu : {"l4", "rtx-3090", "t4"}) {
    for (const std::string version : {"0.21.0", "0.31.0"}) {
      const auto with = [&](const std::string& options) {
        return planned(R"({"model":{"ref":"Qwen/Qwen3-8B"},"hardware":{"gpu":")" + gpu +
                       R"(","count":2},"workload":{"sequence_tokens":8192},"engine":{"name":)" +
                       R"("vllm","version":")" + version + R"(","options":{"dtype":"half")" +
                       options + "}}}");
      };
      const std::string where = gpu + ", " + version;
      const Plan plan = with("");
      ASSERT_EQ(plan.verdict.binding, "utilisation") << where;
      ASSERT_NE(plan.verdict.outcome, Outcome::fits) << where;
      const auto lever = std::find_if(plan.levers.begin(), plan.levers.end(), [](const Lever& l) {
        return l.ids == std::vector<std::string>{"gpu_memory_utilization"};
      });
      ASSERT_NE(lever, plan.levers.end()) << where;
      EXPECT_TRUE(reaches_here(*lever)) << where;
      EXPECT_FALSE(plan.smallest) << where;
      EXPECT_NE(lever->change.find(" GiB)"), std::string::npos) << lever->change;
      EXPECT_NE(lever->cost.find("a cache smaller by "), std::string::npos) << lever->cost;
      const double share =
          lever->set.find("engine")->find("options")->find("gpu_memory_utilization")->as_double();
      const auto outcome = [&](double s) {
        return with(",\"gpu_memory_utilization\":" + json::dump(json::Value(s))).verdict.outcome;
      };
      EXPECT_EQ(outcome(share), Outcome::fits) << where << share;
      EXPECT_NE(outcome(share + 0.01), Outcome::fits) << where << share;
    }
  }
}

// The line of all users names their cells: fewer users need fewer, said in so many words.
TEST(Levers, FewerUsersOfLlamaCppNameTheSmallerContext) {
  const Plan plan = planned(
      R"({"model":{"ref":"meta-llama/Llama-3.1-70B"},"weights":"Q4_K_M",
          "engine":{"name":"llama.cpp"},"hardware":{"gpu":"h100-sxm","count":2},
          "workload":{"sequence_tokens":65536,"concurrency":32}})");
  const auto lever = std::find_if(plan.levers.begin(), plan.levers.end(), [](const Lever& l) {
    return l.ids == std::vector<std::string>{"users"};
  });
  ASSERT_NE(lever, plan.levers.end());
  ASSERT_GT(lever->users, 0);
  EXPECT_EQ(lever->option, "--parallel " + std::to_string(lever->users) + " --ctx-size " +
                               std::to_string(65536 * lever->users));
  // Pasted over those of the line.
  const Plan pasted = planned(
      R"({"model":{"ref":"meta-llama/Llama-3.1-70B"},"weights":"Q4_K_M",
          "engine":{"name":"llama.cpp","options":{"parallel":)" +
      std::to_string(lever->users) + R"(,"ctx_size":)" + std::to_string(65536 * lever->users) +
      R"(}},"hardware":{"gpu":"h100-sxm","count":2}})");
  EXPECT_EQ(pasted.verdict.outcome, Outcome::fits);
}

// Without a card at all the answer is one, too.
TEST(Levers, AMachineWithoutCardsIsToldWhichOneItNeeds) {
  const Plan plan = planned(
      R"({"model":{"ref":"Qwen/Qwen3-8B"},"engine":{"name":"vllm"},"hardware":{"gpu":"none"},
                  "workload":{"sequence_tokens":8192}})");
  EXPECT_EQ(plan.verdict.outcome, Outcome::refuses_to_start);
  ASSERT_TRUE(plan.smallest);
  EXPECT_EQ(plan.smallest->count, 1);
}

TEST(Levers, TheSmallestCardsHoldItAndNoSmallerOnesDo) {
  const char* const text =
      R"({"model":{"ref":"Qwen/Qwen3-8B"},"engine":{"name":"sglang"},"hardware":{"gpu":"rtx-4060"},
          "workload":{"sequence_tokens":32768,"concurrency":4}})";
  const Plan plan = planned(text);
  EXPECT_TRUE(std::none_of(plan.levers.begin(), plan.levers.end(), reaches_here));
  ASSERT_TRUE(plan.smallest);
  const auto outcome = [&](const catalog::Gpu& gpu, int count, const engines::Layout& layout) {
    Resolved there = on_cards(plan.resolved, gpu, size_t(count));
    for (const auto& [name, value] : layout.options) there.settings.options.set(name, value);
    const auto sketch = sketch_plan(there, engines::Detail::verdict);
    return sketch ? sketch->verdict.outcome : Outcome::refuses_to_start;
  };
  const auto found = catalog::find_gpu(plan.smallest->gpu);
  ASSERT_TRUE(found);
  EXPECT_EQ(outcome(*found, plan.smallest->count, plan.smallest->layout), Outcome::fits);
  for (const char* smaller : {"rtx-4060", "rtx-4060-ti-16", "rtx-4090", "rtx-5090"}) {
    const auto gpu = catalog::find_gpu(smaller);
    ASSERT_TRUE(gpu);
    if (gpu->total < found->total * plan.smallest->count) {
      EXPECT_NE(outcome(*gpu, 1, {}), Outcome::fits) << smaller;
    }
  }
}

}  // namespace
}  // namespace vramwise::plan
