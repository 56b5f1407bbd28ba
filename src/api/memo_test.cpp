// What an engine remembers between the plans of one ask changes no answer.
#include <gtest/gtest.h>

#include "api/answer.h"
#include "json/parse.h"
#include "plan/plan.h"

namespace vramwise::api {
namespace {

// Questions whose levers and searches meet the same file with other contexts, cards and placements.
const char* const kRequests[] = {
    R"({"model":{"ref":"meta-llama/Llama-3.1-70B"},"weights":"Q4_K_M","engine":{"name":"llama.cpp"},
        "hardware":{"gpu":"h100-sxm"},"workload":{"sequence_tokens":65536,"concurrency":4}})",
    R"({"model":{"ref":"Qwen/Qwen3-30B-A3B"},"weights":"Q8_0","engine":{"name":"llama.cpp"},
        "hardware":{"gpu":"rtx-3090","count":2,"ram_bytes":68719476736}})",
    R"({"model":{"ref":"openai/gpt-oss-20b"},"engine":{"name":"llama.cpp",
        "options":{"n_cpu_moe":10,"cache_type_k":"q8_0","cache_type_v":"q8_0"}},
        "hardware":{"gpu":"rtx-4060"},"workload":{"sequence_tokens":131072,"concurrency":2}})",
    R"({"model":{"ref":"Qwen/Qwen3-Next-80B-A3B-Instruct"},"weights":"Q4_K_M",
        "engine":{"name":"llama.cpp","version":"b6800"},"hardware":{"gpu":"h100-sxm"},
        "workload":{"sequence_tokens":32768,"concurrency":2}})",
    R"({"model":{"ref":"Qwen/Qwen3-8B"},"engine":{"name":"llama.cpp"},
        "hardware":{"gpu":"mi300x"},"workload":{"sequence_tokens":32768,"concurrency":32}})",
    R"({"model":{"ref":"Qwen/Qwen3-8B"},"weights":"Q4_K_M","engine":{"name":"ollama"},
        "hardware":{"gpu":"rtx-4060"}})",
};

class Memo : public ::testing::TestWithParam<const char*> {};

TEST_P(Memo, ChangesNoAnswer) {
  const auto value = json::parse(GetParam(), "request");
  const auto request = plan::read_request(json::Reader(*value, "request"));
  ASSERT_TRUE(request);
  auto resolved = plan::resolve(*request);
  ASSERT_TRUE(resolved);
  ASSERT_NE(resolved->memo, nullptr);
  const auto first = plan::make_plan(*resolved);
  const auto again = plan::make_plan(*resolved);  // everything is remembered by now
  resolved->memo = nullptr;
  const auto without = plan::make_plan(*resolved);
  ASSERT_TRUE(first && again && without);
  const std::string expected = json::dump(plan_answer(json::Value(), *without));
  EXPECT_EQ(json::dump(plan_answer(json::Value(), *first)), expected);
  EXPECT_EQ(json::dump(plan_answer(json::Value(), *again)), expected);
}

INSTANTIATE_TEST_SUITE_P(LlamaCpp, Memo, ::testing::ValuesIn(kRequests));

}  // namespace
}  // namespace vramwise::api
