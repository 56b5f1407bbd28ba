// Every data-parallel rank has a pool of its own: the plan and the simulation add them up alike.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "api/api.h"
#include "json/parse.h"

namespace vramwise::api {
namespace {

using json::Value;

Value answered(const std::string& text) {
  const auto request = json::parse(text, "request");
  EXPECT_TRUE(request) << text;
  return handle_value(*request);
}

int64_t number(const Value& answer, std::string_view name) {
  const Value* found = answer.find(name);
  EXPECT_NE(found, nullptr) << name << json::dump(answer);
  return found != nullptr ? found->as_integer() : -1;
}

std::string qwen(int ranks, const std::string& workload) {
  const std::string n = std::to_string(ranks);
  return R"({"model":{"ref":"Qwen/Qwen3-8B"},"hardware":{"gpu":"h100-sxm","count":)" + n +
         R"(},"engine":{"name":"sglang","options":{"dp_size":)" + n +
         R"(}},"workload":{"sequence_tokens":8192)" + workload + "}}";
}

TEST(DataRanks, ReplicasOfSglangAddUp) {
  const int64_t one = number(answered(qwen(1, "")), "users");
  ASSERT_GT(one, 30);
  EXPECT_EQ(number(answered(qwen(2, "")), "users"), 2 * one);
  // More than one holds, less than two do.
  const std::string asked = R"(,"concurrency":)" + std::to_string(one + one / 2);
  EXPECT_EQ(answered(qwen(1, asked)).find("outcome")->as_string(), "does_not_fit");
  EXPECT_EQ(answered(qwen(2, asked)).find("outcome")->as_string(), "fits");
}

// Eight ranks of DeepSeek-V3, each with a pool of its own.
void expect_eight_pools(const std::string& engine) {
  const Value answer =
      answered(R"({"model":{"ref":"deepseek-ai/DeepSeek-V3"},"hardware":{"gpu":"h200","count":8},
                   "workload":{"sequence_tokens":8192},"engine":)" +
               engine + "}");
  const int64_t pool = number(*answer.find("kv"), "pool_tokens");
  ASSERT_GT(pool, 8192) << engine;
  EXPECT_EQ(number(answer, "users"), 8 * (pool / 8192)) << engine;
}

TEST(DataRanks, RanksOfAttentionHaveAPoolEach) {
  expect_eight_pools(
      R"({"name":"sglang","options":{"tp_size":8,"dp_size":8,"enable_dp_attention":true}})");
  expect_eight_pools(
      R"({"name":"trtllm","options":{"tensor_parallel_size":8,"enable_attention_dp":true}})");
}

// The option is of all ranks together, so is the one that a lever raises it to.
TEST(DataRanks, AttentionSharesOutTheRequestsOfSglang) {
  const auto with = [](const std::string& requests) {
    return answered(
        R"({"model":{"ref":"deepseek-ai/DeepSeek-V3"},"workload":{"sequence_tokens":8192,
        "concurrency":24},"hardware":{"gpu":"h200","count":8},"engine":{"name":"sglang","options":
        {"tp_size":8,"dp_size":8,"enable_dp_attention":true,"max_running_requests":)" +
        requests + "}}}");
  };
  EXPECT_EQ(with("24").find("outcome")->as_string(), "fits");
  const Value few = with("16");
  EXPECT_EQ(number(few, "users"), 16);
  EXPECT_EQ(few.find("outcome")->as_string(), "does_not_fit");
  EXPECT_EQ(few.find("levers")->as_array().front().find("option")->as_string(),
            "--max-running-requests 24");
}

}  // namespace
}  // namespace vramwise::api
