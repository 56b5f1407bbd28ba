// Limits of the engines' own: what is longer than the model reads or more than an option allows is
// no matter of memory, and the answer says what to turn.
#include <gtest/gtest.h>

#include <string>

#include "api/api.h"
#include "json/parse.h"

namespace vramwise::api {
namespace {

using json::Value;

Value ask(const std::string& text) {
  const auto request = json::parse(text, "request");
  EXPECT_TRUE(request) << text;
  return handle_value(*request);
}

std::string word(const Value& answer, std::string_view name) {
  const Value* value = answer.find(name);
  return value != nullptr && value->is_string() ? value->as_string() : json::dump(answer);
}

// Qwen3-8B reads 40,960 tokens. The sentences are those of vllm config/model.py and of sglang
// srt/configs/model_config.py; TensorRT-LLM starts with the model's length
// (tensorrt_llm/_torch/pyexecutor/model_engine.py).
TEST(Limits, LongerThanTheModelReads) {
  struct Case {
    const char* engine;
    const char* env;
    const char* outcome;
    const char* printed;
  };
  for (const Case& c :
       {Case{"vllm", "VLLM_ALLOW_LONG_MAX_MODEL_LEN", "refuses_to_start", "derived max_model_len"},
        Case{"sglang", "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN", "refuses_to_start",
             "derived context_length (40960)"},
        Case{"trtllm", "TLLM_ALLOW_LONG_MAX_MODEL_LEN", "does_not_fit", ""}}) {
    const std::string engine = c.engine;
    const auto request = [&](const std::string& length, const std::string& env) {
      return R"({"model":{"ref":"Qwen/Qwen3-8B"},"hardware":{"gpu":"h200-sxm"},"levers":false,)"
             R"("workload":{"sequence_tokens":)" +
             length + R"(},"engine":{"name":")" + engine + R"(","env":{)" + env + "}}}";
    };
    EXPECT_EQ(word(ask(request("40960", "")), "outcome"), "fits") << engine;
    const Value longer = ask(request("65536", ""));
    EXPECT_EQ(word(longer, "outcome"), c.outcome) << engine;
    EXPECT_NE(word(longer, "answer").find("reads at most 40,960 tokens"), std::string::npos);
    EXPECT_EQ(longer.find("longest_sequence_tokens")->as_integer(), 40960) << engine;
    if (*c.printed != '\0') {
      EXPECT_NE(word(longer, "engine_error").find(c.printed), std::string::npos);
    }
    const std::string allowed = '"' + std::string(c.env) + R"(":"1")";
    EXPECT_EQ(word(ask(request("65536", allowed)), "outcome"), "fits") << engine;
  }
}

// What is planned for a workload and what is planned for the line that the plan prints agree.
TEST(Limits, TheLineOfALongWorkloadIsRefusedToo) {
  const Value answer = ask(
      R"({"line":"vllm serve Qwen/Qwen3-8B --max-model-len 65536","hardware":{"gpu":"h200-sxm"}})");
  EXPECT_EQ(word(answer, "outcome"), "refuses_to_start");
}

// Where no card is to blame, the list of cards does not look as if one were.
TEST(Limits, NoGpuIsToBlameForTheModel) {
  const Value answer =
      ask(R"({"ask":"gpus","model":{"ref":"Qwen/Qwen3-8B"},"workload":{"sequence_tokens":65536}})");
  EXPECT_EQ(word(*answer.find("gpus"), "answer"),
            "No GPU of the catalog holds it, up to 8 of a kind; the model reads at most 40,960 "
            "tokens");
}

// An option that is smaller than the workload is what to raise: the first of the changes.
TEST(Limits, AreRaised) {
  struct Case {
    const char* engine;
    const char* options;
    const char* flag;
  };
  for (const Case& c : {
           Case{"vllm", R"({"max_model_len":4096})", "--max-model-len 8192"},
           Case{"vllm", R"({"max_num_seqs":4})", "--max-num-seqs 10"},
           Case{"vllm", R"({"max_num_seqs":4,"max_model_len":4096})",
                "--max-model-len 8192 --max-num-seqs 10"},
           Case{"sglang", R"({"context_length":4096})", "--context-length 8192"},
           Case{"sglang", R"({"max_running_requests":4})", "--max-running-requests 10"},
           Case{"trtllm", R"({"max_seq_len":4096})", "--max_seq_len 8192"},
           Case{"trtllm", R"({"max_batch_size":4})", "--max_batch_size 10"},
           Case{"llama.cpp", R"({"ctx_size":40960,"parallel":10})", "--ctx-size 81920"},
           Case{"llama.cpp", R"({"parallel":2})", "--parallel 10 --ctx-size 81920"},
           Case{"ollama", R"({"num_ctx":4096})", "OLLAMA_CONTEXT_LENGTH=8192"},
           Case{"ollama", R"({"num_parallel":2})", "OLLAMA_NUM_PARALLEL=10"},
       }) {
    const Value answer =
        ask(R"({"model":{"ref":"Qwen/Qwen3-8B"},"hardware":{"gpu":"h200-sxm"},)"
            R"("workload":{"sequence_tokens":8192,"concurrency":10},"engine":{"name":")" +
            std::string(c.engine) + R"(","options":)" + c.options + "}}");
    EXPECT_EQ(word(answer, "outcome"), "does_not_fit") << c.engine << c.options;
    const Value* levers = answer.find("levers");
    ASSERT_NE(levers, nullptr) << json::dump(answer);
    ASSERT_FALSE(levers->as_array().empty()) << c.engine << c.options;
    const Value& first = levers->as_array().front();
    EXPECT_EQ(word(first, "option"), c.flag) << c.engine << c.options;
    EXPECT_TRUE(first.find("reaches")->as_boolean()) << c.engine << c.options;
  }
}

// A workload inside the limits is offered none.
TEST(Limits, AreLeftWhereTheyAreNotPassed) {
  const Value answer = ask(R"({"model":{"ref":"Qwen/Qwen3-32B"},"hardware":{"gpu":"h100-sxm"},)"
                           R"("workload":{"sequence_tokens":8192,"concurrency":50}})");
  for (const Value& lever : answer.find("levers")->as_array()) {
    for (const Value& id : lever.find("ids")->as_array()) EXPECT_NE(id.as_string(), "limit");
  }
}

// Slots for adapters are set aside only with the switch, so the search turns it on: each takes
// 81,920 x 32 layers x rank 16 x 2 bytes of Llama 3.1 8B.
TEST(Limits, AdaptersTakeMemory) {
  const Value answer = ask(R"({"ask":"max","of":"lora","model":{"ref":"meta-llama/Llama-3.1-8B"},)"
                           R"("hardware":{"gpu":"l4"},"workload":{"sequence_tokens":4096}})");
  const Value* max = answer.find("max");
  ASSERT_NE(max, nullptr) << json::dump(answer);
  const int64_t slots = max->find("value")->as_integer();
  EXPECT_FALSE(max->find("at_limit")->as_boolean());
  // What is left of 22 GiB beside 15 GiB of weights and one sequence.
  EXPECT_GT(slots, 10);
  EXPECT_LT(slots * (int64_t{81920} * 32 * 16 * 2), int64_t{5} << 30);
  EXPECT_NE(json::dump(answer).find("--enable-lora"), std::string::npos);
}

}  // namespace
}  // namespace vramwise::api
