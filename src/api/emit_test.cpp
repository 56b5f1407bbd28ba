// Manifests and commands read back: whoever pastes what we print gets the plan that we printed it
// for.
#include "api/api.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "json/parse.h"

namespace vramwise::api {
namespace {

json::Value parsed(std::string_view text) { return *json::parse(text, "test"); }

struct Asked {
  std::string_view engine;
  std::string_view model;
  std::string_view weights;  // empty: what the model's own files hold
  std::string_view options;
  int count = 1;
};

json::Value request_for(const Asked& asked, std::string_view workload) {
  json::Value request = json::Value::object();
  if (!asked.weights.empty()) request.set("weights", asked.weights);
  json::Value hardware = json::Value::object();
  hardware.set("gpu", "h100-sxm");
  hardware.set("count", asked.count);
  request.set("hardware", std::move(hardware));
  if (!workload.empty()) request.set("workload", parsed(workload));
  return request;
}

// What must not change. Assumptions differ, since the line says what was assumed before; the order
// of options in the command is the manifest's; and llama.cpp's model is then known by its file's
// name.
constexpr std::string_view kSame[] = {"outcome", "answer",  "totals",  "readings", "ledger", "kv",
                                      "log",     "buffers", "devices", "users",    "levers"};

constexpr Asked kAsked[] = {
    {"vllm", "Qwen/Qwen3-8B", "", R"({})"},
    {"vllm", "meta-llama/Llama-3.1-70B", "", R"({"kv_cache_dtype":"fp8","max_num_seqs":64})", 4},
    {"vllm", "openai/gpt-oss-20b", "",
     R"({"speculative_config":{"method":"ngram",)"
     R"("num_speculative_tokens":3},"enforce_eager":true})"},
    {"vllm", "deepseek-ai/DeepSeek-V3", "", R"({"gpu_memory_utilization":0.9})", 16},
    {"sglang", "Qwen/Qwen3-8B", "", R"({"mem_fraction_static":0.8,"chunked_prefill_size":4096})"},
    {"sglang", "Qwen/Qwen3-30B-A3B", "", R"({})", 16},
    {"trtllm", "Qwen/Qwen3-8B", "", R"({"max_batch_size":64})"},
    {"trtllm", "Qwen/Qwen3-8B", "",
     R"({"kv_cache_config":{"dtype":"fp8",)"
     R"("enable_block_reuse":false}})",
     2},
    {"llama.cpp", "meta-llama/Llama-3.1-8B", "Q4_K_M", R"({})"},
    {"llama.cpp", "Qwen/Qwen3-30B-A3B", "Q5_K_M",
     R"({"cache_type_k":"q8_0","cache_type_v":"q8_0",)"
     R"("override_tensor":["blk.1.ffn=CPU"]})"},
    {"ollama", "Qwen/Qwen3-8B", "Q4_K_M", R"({})"},
    {"ollama", "Qwen/Qwen3-8B", "Q8_0", R"({"kv_cache_type":"q8_0","num_gpu":20})"},
};

// The text that the plan of `asked` prints; `emit` empty: its command. Null where it cannot be.
std::string printed(const Asked& asked, std::string_view workload, std::string_view emit,
                    json::Value& answer) {
  json::Value request = request_for(asked, workload);
  json::Value model = json::Value::object();
  model.set("ref", asked.model);
  request.set("model", std::move(model));
  json::Value engine = json::Value::object();
  engine.set("name", asked.engine);
  engine.set("options", parsed(asked.options));
  request.set("engine", std::move(engine));
  if (!emit.empty()) request.set("emit", emit);
  answer = parsed(handle(json::dump(request)));
  if (answer.find("error") != nullptr) return {};
  if (emit.empty()) return answer.find("command")->as_string();
  return answer.find("manifest")->find("text")->as_string();
}

std::string without(std::string text, std::string_view part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part)) {
    text.erase(at, part.size());
  }
  return text;
}

// The command names the repository, which holds bf16.
TEST(Emit, AnotherFormatThanTheRepositorysIsSaidOnTopOfTheManifest) {
  for (const std::string format : {"Q4_K_M", "awq", "fp8"}) {
    const json::Value answer = parsed(handle(
        R"({"model":{"ref":"Qwen/Qwen3-8B"},"engine":{"name":"vllm"},"hardware":{"gpu":"l4"},)"
        R"("workload":{"sequence_tokens":8192},"emit":"compose","weights":")" +
        format + R"("})"));
    ASSERT_EQ(answer.find("error"), nullptr) << json::dump(answer);
    const std::string text = answer.find("manifest")->find("text")->as_string();
    EXPECT_TRUE(contains(text, "# Before use: the weights are planned in " + format)) << text;
    EXPECT_EQ(contains(text, "--quantization fp8)"), format == "fp8") << text;
  }
}

TEST(Emit, WhatIsPrintedReadsBackAsTheSamePlan) {
  int compared = 0;
  for (const Asked& asked : kAsked) {
    // With a workload the command says what it settled; every other case is without one.
    const bool given = (&asked - kAsked) % 2 == 0;
    const std::string_view workload = given ? R"({"sequence_tokens":8192,"concurrency":4})" : "";
    for (const std::string_view emit : {"", "compose", "k8s", "llm-d"}) {
      json::Value answer;
      const std::string text = printed(asked, workload, emit, answer);
      if (const json::Value* error = answer.find("error")) {
        EXPECT_EQ(error->find("code")->as_string(), "unsupported") << json::dump(answer);
        EXPECT_TRUE(error->find("hints") != nullptr) << json::dump(answer);
        continue;
      }
      json::Value again = request_for(asked, workload);
      again.set("line", text);
      const json::Value back = parsed(handle(json::dump(again)));
      ASSERT_EQ(back.find("error"), nullptr) << text << json::dump(back);
      for (const std::string_view key : kSame) {
        const json::Value* a = answer.find(key);
        const json::Value* b = back.find(key);
        ASSERT_EQ(a == nullptr, b == nullptr) << key;
        if (a == nullptr) continue;
        // Containers keep their models in a folder of their own.
        EXPECT_EQ(json::dump(*a), without(json::dump(*b), "/models/")) << key << "\n" << text;
      }
      ++compared;
    }
  }
  // Every engine's command, Compose and Kubernetes where one machine or vLLM and SGLang, llm-d for
  // vLLM on one machine.
  EXPECT_EQ(compared, 12 + 10 + 12 + 3);
}

TEST(Emit, WhatCannotBeRunSaysWhatCan) {
  struct Case {
    Asked asked;
    std::string_view emit, hint;
  };
  const Case cases[] = {
      {{"sglang", "Qwen/Qwen3-8B", "", "{}"}, "llm-d", "k8s"},
      {{"trtllm", "Qwen/Qwen3-8B", "", "{}", 16}, "k8s", "sglang"},
      {{"vllm", "Qwen/Qwen3-8B", "", "{}", 16}, "compose", "LeaderWorkerSet"},
      {{"transformers", "Qwen/Qwen3-8B", "", "{}"}, "compose", "command"},
  };
  for (const Case& c : cases) {
    json::Value answer;
    printed(c.asked, "", c.emit, answer);
    ASSERT_NE(answer.find("error"), nullptr);
    EXPECT_EQ(answer.find("error")->find("code")->as_string(), "unsupported");
    EXPECT_NE(json::dump(answer).find(c.hint), std::string::npos) << json::dump(answer);
  }
}

TEST(Emit, UnknownKindNamesTheKnown) {
  json::Value answer;
  printed(kAsked[0], "", "nomad", answer);
  ASSERT_NE(answer.find("error"), nullptr);
  EXPECT_EQ(answer.find("error")->find("code")->as_string(), "not_found");
  EXPECT_NE(json::dump(answer).find("compose, k8s, llm-d"), std::string::npos);
}

}  // namespace
}  // namespace vramwise::api
