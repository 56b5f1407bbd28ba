#include "engines/device_support.h"

#include <gtest/gtest.h>

#include "api/api.h"
#include "json/parse.h"

namespace vramwise::engines {
namespace {

struct Case {
  std::string_view engine, version, gpu, weights, extra;
  std::string_view outcome;  // refuses_to_start, tight, fits
  std::string_view says;     // part of the answer's explanation or of the engine's error
  std::string_view source;
};

// What servers said on such cards.
constexpr Case kCases[] = {
    {"vllm", "0.11", "p40", "bf16", "", "refuses_to_start", "capability 7.0",
     "vllm docs/getting_started/installation/gpu.md"},
    // Eager: an old driver's graphs may not fit beside the budget, which is no matter of support.
    {"vllm", "0.19", "v100-32", "bf16", R"(,"enforce_eager":true)", "fits", "",
     "docs of 0.14: 7.0 or higher, V100"},
    {"vllm", "0.20", "v100-32", "bf16", "", "tight", "no kernel image",
     "vllm PR 39878, comment of 2026-04-18"},
    {"vllm", "0.13", "quadro-rtx-8000", "fp8", "", "refuses_to_start",
     "The quantization method fp8 is not supported for the current GPU. Minimum capability: 80. "
     "Current capability: 75.",
     "vllm issue 4327 has the words, PR 5975 the 80"},
    {"vllm", "0.14", "quadro-rtx-8000", "fp8", "", "fits", "", "vllm PR 29901"},
    {"vllm", "0.11", "quadro-rtx-8000", "w4a16", "", "refuses_to_start", "Minimum capability: 80",
     "vllm issue 25022"},
    {"vllm", "0.11", "quadro-rtx-8000", "awq", "", "fits", "", "docs of 0.11: AWQ on Turing"},
    {"vllm", "0.28", "quadro-rtx-8000", "mxfp4", "", "refuses_to_start", "Minimum capability: 80",
     "vllm PR 29901: MXFP4 wants bfloat16"},
    {"vllm", "0.11", "quadro-rtx-8000", "bf16", R"(,"dtype":"bfloat16")", "refuses_to_start",
     "Bfloat16 is only supported on GPUs with compute capability of at least 8.0",
     "vllm platforms/cuda.py"},
    {"vllm", "0.8", "quadro-rtx-8000", "bf16", "", "tight", "--dtype=half",
     "vllm config.py before 0.9"},
    {"vllm", "0.8", "quadro-rtx-8000", "bf16", R"(,"dtype":"half")", "fits", "", ""},
    {"vllm", "0.11", "apple-m3-max-128", "bf16", "", "tight", "if it runs there at all", ""},
    {"vllm", "0.11", "arc-pro-b60", "awq", "", "tight", "", ""},
    {"vllm", "0.26", "h100-sxm", "bf16", R"(,"attention_backend":"flash_attn")", "fits", "",
     "vllm v1/attention/backends/registry.py"},
    {"vllm", "0.26", "h100-sxm", "bf16", R"(,"attention_backend":"FLASHATTN")", "tight",
     "similar: FLASH_ATTN", "the same: unknown names are refused"},
    {"vllm", "0.26", "rtx-pro-6000-ws", "bf16", R"(,"attention_backend":"B12X")", "tight",
     "only a build of one's own", "vllm PR 52017 came after 0.26"},
    {"vllm", "0.30", "rtx-pro-6000-ws", "bf16", R"(,"attention_backend":"B12X")", "fits", "",
     "vllm PR 52017"},
    {"sglang", "0.5.9", "v100-32", "bf16", "", "refuses_to_start",
     "SGLang only supports sm75 and above.", "sglang model_executor/model_runner.py"},
    {"sglang", "0.5.9", "h200-sxm", "nvfp4", "", "refuses_to_start", "Minimum capability: 100",
     "sglang layers/quantization/modelopt_quant.py"},
    {"sglang", "0.5.9", "b200", "nvfp4", "", "fits", "", ""},
    {"trtllm", "1.2", "quadro-rtx-8000", "bf16", "", "refuses_to_start", "capability 8.0",
     "TensorRT-LLM docs reference/support-matrix"},
    {"trtllm", "1.2", "a100-sxm4-80", "fp8-tensor", "", "refuses_to_start", "capability 8.9",
     "TensorRT-LLM docs reference/support-matrix"},
    {"trtllm", "1.2", "l40s", "fp8-tensor", "", "fits", "", ""},
};

TEST(DeviceSupport, AsTheServersSay) {
  for (const Case& c : kCases) {
    const std::string request =
        R"({"ask":"plan","levers":false,"model":{"ref":"Qwen/Qwen3-8B"},"weights":")" +
        std::string(c.weights) + R"(","engine":{"name":")" + std::string(c.engine) +
        R"(","version":")" + std::string(c.version) + R"(","options":{")" +
        (c.engine == "sglang"   ? "context_length"
         : c.engine == "trtllm" ? "max_seq_len"
                                : "max_model_len") +
        "\":2048" + std::string(c.extra) + R"(}},"hardware":{"gpu":")" + std::string(c.gpu) +
        "\"}}";
    const std::string answer = api::handle(request);
    const auto parsed = json::parse(answer, "answer");
    ASSERT_TRUE(parsed.has_value());
    const json::Value* outcome = parsed->find("outcome");
    ASSERT_NE(outcome, nullptr) << answer;
    EXPECT_EQ(outcome->as_string(), c.outcome) << c.engine << " " << c.version << " on " << c.gpu
                                               << " in " << c.weights << ": " << c.source;
    EXPECT_NE(answer.find(c.says), std::string::npos) << c.says << "\n" << answer.substr(0, 800);
  }
}

// An MLX checkpoint, with the key that its configs had first: no server of these reads it but
// vLLM's plugin for Apple's GPUs.
TEST(DeviceSupport, MlxCheckpointsAreRefused) {
  const auto answer_of = [](std::string_view engine, std::string_view gpu) {
    return api::handle(
        R"({"ask":"plan","levers":false,"model":{"config":{"model_type":"llama","hidden_size":1024,)"
        R"("intermediate_size":4096,"num_attention_heads":8,"num_hidden_layers":4,)"
        R"("vocab_size":32000,"quantization":{"group_size":64,"bits":4}}},"engine":{"name":")" +
        std::string(engine) + R"("},"hardware":{"gpu":")" + std::string(gpu) + R"("}})");
  };
  for (const std::string_view engine : {"vllm", "sglang", "trtllm"}) {
    const std::string answer = answer_of(engine, "h100-sxm");
    const auto parsed = json::parse(answer, "answer");
    ASSERT_TRUE(parsed.has_value());
    const json::Value* outcome = parsed->find("outcome");
    ASSERT_NE(outcome, nullptr) << answer;
    EXPECT_EQ(outcome->as_string(), "refuses_to_start") << engine;
    EXPECT_NE(answer.find("quantised for MLX"), std::string::npos) << engine;
  }
  const std::string apple = answer_of("vllm", "apple-m4-max-64");
  EXPECT_NE(apple.find("\"outcome\":"), std::string::npos) << apple;
  EXPECT_EQ(apple.find("refuses_to_start"), std::string::npos) << apple;
}

// 32 heads over 5 ranks: refused by the releases (vllm config/model.py), undecided in a build of
// one's own (local-inference-lab/vllm pull request 64 pads heads for its backend).
TEST(DeviceSupport, OwnBuildsSplitByRulesOfTheirOwn) {
  const auto outcome = [](std::string_view backend) {
    const std::string answer = api::handle(
        R"({"ask":"plan","levers":false,"model":{"ref":"Qwen/Qwen3-8B"},"engine":{"name":"vllm",)"
        R"("version":"0.26","options":{"tensor_parallel_size":5,"attention_backend":")" +
        std::string(backend) + R"("}},"hardware":{"gpu":"rtx-pro-6000-ws","count":5}})");
    const auto parsed = json::parse(answer, "answer");
    return std::string(parsed->find("outcome")->as_string());
  };
  EXPECT_EQ(outcome("FLASH_ATTN"), "refuses_to_start");
  EXPECT_EQ(outcome("B12X"), "tight");
}

// Gemma 2 on a 2080 Ti: vLLM 0.23 says that it goes on in float32, and loads twice the bytes.
TEST(DeviceSupport, HalfThatAModelDoesNotBear) {
  const auto weights = [](std::string_view gpu) {
    const std::string answer = api::handle(
        R"({"ask":"plan","levers":false,"model":{"ref":"google/gemma-2-2b"},"weights":"bf16",)"
        R"("engine":{"name":"vllm","version":"0.23","options":{"max_model_len":2048}},)"
        R"("hardware":{"gpu":")" +
        std::string(gpu) + "\"}}");
    const auto parsed = json::parse(answer, "answer");
    EXPECT_NE(answer.find(gpu == "rtx-3090" ? "" : "falls back to float32"), std::string::npos);
    return parsed->find("totals")->find("weights_bytes")->as_integer();
  };
  EXPECT_NEAR(double(weights("quadro-rtx-8000")) / double(weights("rtx-3090")), 2, 0.01);
}

TEST(DeviceSupport, SweepsLeaveOthersOut) {
  const auto runs = [](std::string_view engine, std::string_view gpu) {
    const auto found = catalog::find_gpu(gpu);
    EXPECT_TRUE(found.has_value()) << gpu;
    return supports(engine, *found);
  };
  EXPECT_TRUE(runs("vllm", "t4"));
  EXPECT_TRUE(runs("vllm", "mi300x"));
  EXPECT_FALSE(runs("vllm", "v100-32"));  // the newest images
  EXPECT_FALSE(runs("vllm", "gaudi3"));
  EXPECT_FALSE(runs("sglang", "p40"));
  EXPECT_FALSE(runs("trtllm", "t4"));
  EXPECT_TRUE(runs("trtllm", "l4"));
}

}  // namespace
}  // namespace vramwise::engines
