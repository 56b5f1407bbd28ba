// A grid says of every cell what a plan of that cell says.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "api/api.h"
#include "json/parse.h"

namespace vramwise::api {
namespace {

using json::Value;

Value parsed(std::string_view text) { return *json::parse(text, "test"); }

Value one(std::string_view key, Value value) {
  Value object = Value::object();
  object.set(key, std::move(value));
  return object;
}

struct Question {
  const char* name;
  const char* request;  // without ask, grid and workload
  std::vector<int64_t> tokens, users;
  std::vector<std::string> gpus;
};

// One for each engine, and for each kind of cache and machine that changes how a cell is made.
const Question kQuestions[] = {
    {"vllm",
     R"({"model":{"ref":"Qwen/Qwen3-8B"},"hardware":{"gpu":"h100-sxm"}})",
     {131072, 2048, 8192, 32768},
     {1, 64, 8},
     {"rtx-4060", "rtx-4090", "l40s", "h100-sxm", "b200"}},
    {"vllm_windows_two_cards",
     R"({"model":{"ref":"google/gemma-3-27b-it"},"hardware":{"gpu":"l40s","count":2}})",
     {1024, 16384, 65536},
     {1, 4, 32},
     {"rtx-4090", "l40s", "h200-sxm"}},
    {"vllm_option_wins",
     R"({"model":{"ref":"meta-llama/Llama-3.1-8B"},"hardware":{"gpu":"rtx-4090"},
         "engine":{"name":"vllm","options":{"max_model_len":16384}}})",
     {4096, 65536},
     {1, 16},
     {"rtx-3060-12", "rtx-5090"}},
    {"sglang",
     R"({"model":{"ref":"Qwen/Qwen3-8B"},"engine":{"name":"sglang"},"hardware":{"gpu":"l40s"}})",
     {4096, 32768},
     {1, 16, 128},
     {"rtx-4090", "h100-sxm"}},
    {"trtllm",
     R"({"model":{"ref":"Qwen/Qwen3-8B"},"engine":{"name":"trtllm"},"hardware":{"gpu":"l40s"}})",
     {4096, 32768},
     {1, 16, 128},
     {"rtx-4090", "h100-sxm"}},
    {"transformers",
     R"({"model":{"ref":"Qwen/Qwen3-8B"},"engine":{"name":"transformers"},"hardware":{"gpu":"l40s"}})",
     {4096, 32768},
     {1, 8},
     {"rtx-4090", "h100-sxm"}},
    {"llamacpp",
     R"({"model":{"ref":"Qwen/Qwen3-30B-A3B"},"weights":"Q4_K_M","engine":{"name":"llama.cpp"},
         "hardware":{"gpu":"rtx-3090"}})",
     {2048, 16384, 40960},
     {1, 3, 8},
     {"rtx-3060-12", "rtx-4090", "rtx-5090", "l40s"}},
    {"llamacpp_experts_in_ram",
     R"({"model":{"ref":"openai/gpt-oss-20b"},"engine":{"name":"llama.cpp","options":{"n_cpu_moe":12}},
         "hardware":{"gpu":"rtx-4060","ram_bytes":68719476736}})",
     {4096, 131072},
     {1, 4},
     {"rtx-4060", "rtx-3060-12", "rtx-4090"}},
    {"llamacpp_cpu",
     R"({"model":{"ref":"meta-llama/Llama-3.1-8B"},"weights":"Q4_K_M","engine":{"name":"llama.cpp"},
         "hardware":{"gpu":"none","ram_bytes":17179869184}})",
     {2048, 65536},
     {1, 4},
     {"rtx-4060", "rtx-4090"}},
    {"ollama",
     R"({"model":{"ref":"Qwen/Qwen3-8B"},"weights":"Q4_K_M","engine":{"name":"ollama"},
         "hardware":{"gpu":"rtx-4060"}})",
     {4096, 32768},
     {1, 4},
     {"rtx-4060", "rtx-4090"}},
};

Value with_cell(const Value& request, int64_t tokens, int64_t users) {
  Value changed = request;
  Value workload = one("sequence_tokens", tokens);
  workload.set("concurrency", users);
  changed.set("workload", std::move(workload));
  changed.set("levers", false);
  return changed;
}

std::string outcome_of(const Value& plan) { return plan.find("outcome")->as_string(); }

// First GPU of the list on which plan says that it fits; empty: none.
std::string first_gpu(const Question& question, const Value& request) {
  for (const std::string& gpu : question.gpus) {
    Value changed = request;
    const Value& asked = *request.find("hardware");
    Value hardware = one("gpu", gpu);
    for (const char* key : {"count", "ram_bytes"}) {
      if (const Value* value = asked.find(key)) hardware.set(key, *value);
    }
    changed.set("hardware", std::move(hardware));
    if (outcome_of(handle_value(changed)) == "fits") return gpu;
  }
  return "";
}

// Members that grid and plan name alike.
void expect_same(const Value& cell, const Value& plan, std::string_view key) {
  const Value* a = cell.find(key);
  const Value* b = plan.find(key);
  EXPECT_EQ(a == nullptr ? "" : json::dump(*a), b == nullptr ? "" : json::dump(*b)) << key;
}

void expect_cell_is_plan(const Question& question, const Value& cell, const Value& request) {
  const Value plan = handle_value(request);
  ASSERT_EQ(plan.find("error"), nullptr) << json::dump(plan);
  for (const char* key : {"outcome", "starts", "binding", "shortfall_bytes"}) {
    expect_same(cell, plan, key);
  }
  const Value& need = *plan.find("readings")->find("need");
  for (const json::Member& member : need.as_object()) {
    if (member.key == "total_low_bytes" || member.key == "total_high_bytes") continue;
    const Value* range = cell.find("need")->find(member.key);
    ASSERT_NE(range, nullptr) << member.key;
    EXPECT_EQ(range->as_array()[1].as_integer(), member.value.as_integer()) << member.key;
  }
  const auto& total = cell.find("need")->find("total_bytes")->as_array();
  const Value* low = need.find("total_low_bytes");
  const Value* high = need.find("total_high_bytes");
  EXPECT_EQ(total[0].as_integer(), (low != nullptr ? *low : total[1]).as_integer());
  EXPECT_EQ(total[2].as_integer(), (high != nullptr ? *high : total[1]).as_integer());
  const Value* gpu = cell.find("gpu");
  EXPECT_EQ(gpu == nullptr ? "" : gpu->as_string(), first_gpu(question, request));
}

class GridIsPlan : public ::testing::TestWithParam<Question> {};

TEST_P(GridIsPlan, InEveryCell) {
  const Question& question = GetParam();
  const Value base = parsed(question.request);
  Value axes = Value::object();
  Value tokens = Value::array(), users = Value::array(), gpus = Value::array();
  for (const int64_t t : question.tokens) tokens.push(t);
  for (const int64_t u : question.users) users.push(u);
  for (const std::string& g : question.gpus) gpus.push(g);
  axes.set("sequence_tokens", std::move(tokens));
  axes.set("concurrency", std::move(users));
  axes.set("gpus", std::move(gpus));
  Value request = base;
  request.set("ask", "grid");
  request.set("grid", std::move(axes));
  const Value answer = handle_value(request);
  ASSERT_EQ(answer.find("error"), nullptr) << json::dump(answer);
  const auto& rows = answer.find("grid")->find("cells")->as_array();
  ASSERT_EQ(rows.size(), question.users.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    const auto& row = rows[r].as_array();
    ASSERT_EQ(row.size(), question.tokens.size());
    for (size_t c = 0; c < row.size(); ++c) {
      SCOPED_TRACE("row " + std::to_string(r) + ", column " + std::to_string(c));
      expect_cell_is_plan(question, row[c], with_cell(base, question.tokens[c], question.users[r]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, GridIsPlan, ::testing::ValuesIn(kQuestions),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Grid, LooksForTheUsualCardsWhenNoneAreNamed) {
  const Value answer = handle_value(parsed(
      R"({"ask":"grid","model":{"ref":"Qwen/Qwen3-8B"},"hardware":{"gpu":"h100-sxm"},
          "grid":{"sequence_tokens":[8192],"concurrency":[1]}})"));
  const Value& grid = *answer.find("grid");
  EXPECT_EQ(grid.find("gpus")->as_array().front().find("gpu")->as_string(), "rtx-4060");
  EXPECT_EQ(grid.find("cells")->as_array()[0].as_array()[0].find("gpu")->as_string(), "rtx-4090");
}

TEST(Grid, LooksForNoCardWhenTheListIsEmpty) {
  const Value answer = handle_value(parsed(
      R"({"ask":"grid","model":{"ref":"Qwen/Qwen3-8B"},"hardware":{"gpu":"h100-sxm"},
          "grid":{"sequence_tokens":[8192],"concurrency":[1],"gpus":[]}})"));
  const Value& cell = answer.find("grid")->find("cells")->as_array()[0].as_array()[0];
  EXPECT_EQ(cell.find("gpu"), nullptr);
}

TEST(Grid, TakesALaunchLine) {
  const Value answer = handle_value(parsed(
      R"({"ask":"grid","line":"vllm serve Qwen/Qwen3-8B --kv-cache-dtype fp8",
          "hardware":{"gpu":"h100-sxm"},
          "grid":{"sequence_tokens":[32768],"concurrency":[8],"gpus":[]}})"));
  const Value& cell = answer.find("grid")->find("cells")->as_array()[0].as_array()[0];
  // 32,768 tokens x 8 of 72 KiB.
  EXPECT_EQ(cell.find("need")->find("kv_cache_bytes")->as_array()[1].as_integer(),
            int64_t{32768} * 8 * 72 * 1024);
}

std::string error_of(const std::string& grid) {
  const Value answer = handle_value(parsed(
      R"({"ask":"grid","model":{"ref":"Qwen/Qwen3-8B"},"hardware":{"gpu":"h100-sxm"},"grid":)" +
      grid + "}"));
  const Value* error = answer.find("error");
  if (error == nullptr) return "";
  return error->find("code")->as_string() + " at " + error->find("where")->as_string();
}

TEST(Grid, SaysWhatIsWrongWithItsSizes) {
  EXPECT_EQ(error_of("7"), "invalid_input at request (/grid)");
  EXPECT_EQ(error_of(R"({"concurrency":[1]})"), "missing_field at request (/grid)");
  EXPECT_EQ(error_of(R"({"sequence_tokens":[],"concurrency":[1]})"),
            "invalid_input at grid.sequence_tokens");
  EXPECT_EQ(error_of(R"({"sequence_tokens":[0],"concurrency":[1]})"),
            "invalid_input at request (/grid/sequence_tokens/0)");
  EXPECT_EQ(error_of(R"({"sequence_tokens":[1],"concurrency":[1],"gpus":["rtx-9999"]})"),
            "not_found at grid.gpus");
  std::string long_axis = "[1";
  for (int i = 0; i < 300; ++i) long_axis += ",1";
  long_axis += "]";
  EXPECT_EQ(error_of(R"({"concurrency":[1],"sequence_tokens":)" + long_axis + "}"),
            "too_large at grid.sequence_tokens");
  std::string axis = "[1";
  for (int i = 0; i < 99; ++i) axis += ",1";
  axis += "]";
  EXPECT_EQ(error_of(R"({"concurrency":)" + axis + R"(,"sequence_tokens":)" + axis + "}"),
            "too_large at grid");
}

}  // namespace
}  // namespace vramwise::api
