#include "catalog/model_ref.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "catalog/catalog.h"
#include "catalog/stored_format.h"

namespace vramwise::catalog {
namespace {

int64_t number(const json::Value& config, std::string_view key) {
  const json::Value* value = config.find(key);
  return value != nullptr ? value->as_integer() : -1;
}

TEST(ModelRef, EveryModelOfTheCatalogResolves) {
  for (const std::string_view id : ids(Kind::model)) {
    const auto model = resolve_model(id);
    ASSERT_TRUE(model) << id << ": " << model.error().message;
    EXPECT_EQ(model->id, id);
    ASSERT_TRUE(model->config.is_object()) << id;
    EXPECT_TRUE(model->config.find("model_type") != nullptr ||
                model->config.find("architectures") != nullptr)
        << id;
    EXPECT_EQ(model->config.find("quantization_config"), nullptr) << id;
    EXPECT_TRUE(model->quantization_config.is_null() || model->quantization_config.is_object());
    EXPECT_FALSE(model->source.empty()) << id;
    EXPECT_FALSE(model->confidence.empty()) << id;
  }
}

TEST(ModelRef, AnEntryMayBuildOnAnother) {
  const auto model = resolve_model("Qwen/Qwen3-4B-Instruct-2507");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->id, "Qwen/Qwen3-4B-Instruct-2507");
  EXPECT_EQ(number(model->config, "max_position_embeddings"), 262144);
  EXPECT_EQ(number(model->config, "num_hidden_layers"), 36);
  EXPECT_TRUE(model->notes.assumptions.empty());
}

TEST(ModelRef, AVariantSaysWhatWasAssumed) {
  const struct {
    std::string_view asked;
    std::string_view id;
    std::string_view method;  // quant_method, empty: not quantised
    std::string_view weights;
  } cases[] = {
      // formats
      {"RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "meta-llama/Llama-3.3-70B-Instruct",
       "compressed-tensors", ""},
      {"neuralmagic/Meta-Llama-3.1-70B-Instruct-quantized.w8a8", "meta-llama/Llama-3.1-70B",
       "compressed-tensors", ""},
      {"Qwen/Qwen2.5-32B-Instruct-GPTQ-Int4", "Qwen/Qwen2.5-32B-Instruct", "gptq", ""},
      {"Qwen/Qwen3-30B-A3B-FP8", "Qwen/Qwen3-30B-A3B", "fp8", ""},
      {"nvidia/Llama-3.3-70B-Instruct-FP4", "meta-llama/Llama-3.3-70B-Instruct", "modelopt", ""},
      {"QuantTrio/Qwen3-235B-A22B-Instruct-2507-AWQ", "Qwen/Qwen3-235B-A22B-Instruct-2507", "awq",
       ""},
      {"cyankiwi/gemma-4-31B-it-AWQ-4bit", "google/gemma-4-31B-it", "compressed-tensors", ""},
      {"cyankiwi/Qwen3.8-27B-AWQ-INT4", "Qwen/Qwen3.8-27B", "compressed-tensors", ""},
      // folders: what a server in a container is given, and the hub's cache
      {"/models/cyankiwi/gemma-4-31B-it-AWQ-4bit", "google/gemma-4-31B-it", "compressed-tensors",
       ""},
      {"/models/nvidia/Llama-3.3-70B-Instruct-FP4/", "meta-llama/Llama-3.3-70B-Instruct",
       "modelopt", ""},
      {"/root/.cache/huggingface/hub/models--Qwen--Qwen3-30B-A3B-FP8/snapshots/d52e3bd",
       "Qwen/Qwen3-30B-A3B", "fp8", ""},
      {"cyankiwi/Qwen3.8-27B-AWQ-BF16-INT4", "Qwen/Qwen3.8-27B", "compressed-tensors", ""},
      {"nvidia/Qwen3.8-27B-NVFP4", "nvidia/Qwen3.8-27B-NVFP4", "modelopt", ""},
      {"google/gemma-4-12B-it-qat-w4a16-ct", "google/gemma-4-12B-it-qat-w4a16-ct",
       "compressed-tensors", ""},
      {"Qwen/Qwen2-Audio-7B", "Qwen/Qwen2-Audio-7B-Instruct", "", ""},
      {"unsloth/Llama-3.2-3B-Instruct-bnb-4bit", "meta-llama/Llama-3.2-3B", "bitsandbytes", ""},
      {"unsloth/gpt-oss-20b-BF16", "openai/gpt-oss-20b", "", "bf16"},
      // GGUF
      {"bartowski/Qwen3-8B-GGUF:Q5_K_M", "Qwen/Qwen3-8B", "", "Q5_K_M"},
      {"unsloth/Qwen3-4B-Instruct-2507-GGUF", "Qwen/Qwen3-4B-Instruct-2507", "", "Q4_K_M"},
      {"unsloth/gpt-oss-20b-GGUF:Q8_0", "openai/gpt-oss-20b", "", "Q8_0"},
      {"ggml-org/gpt-oss-20b-GGUF", "openai/gpt-oss-20b", "", "MXFP4_MOE"},
      {"bartowski/google_gemma-3-27b-it-GGUF:Q4_K_M", "google/gemma-3-27b-it", "", "Q4_K_M"},
      {"qwen3-8b:q4_k_m", "Qwen/Qwen3-8B", "", "Q4_K_M"},
      {"mradermacher/Llama-3.3-70B-Instruct-i1-GGUF", "meta-llama/Llama-3.3-70B-Instruct", "",
       "i1-Q4_K_M"},
      {"mradermacher/Qwen3-8B-i1-GGUF:Q5_K_M", "Qwen/Qwen3-8B", "", "i1-Q5_K_M"},
      {"hugging-quants/Llama-3.2-1B-Instruct-Q8_0-GGUF", "meta-llama/Llama-3.2-1B", "", "Q8_0"},
      {"hf.co/unsloth/Qwen3-8B-GGUF:UD-Q4_K_XL", "Qwen/Qwen3-8B", "", "UD-Q4_K_XL"},
      // names of files that are not here
      {"/models/gemma-3-27b-it-Q4_0.gguf", "google/gemma-3-27b-it", "", "Q4_0"},
      {"models\\phi-4-q6_k.gguf", "microsoft/phi-4", "", "Q6_K"},
      {"GLM-4.5-Air-UD-Q4_K_XL-00001-of-00002.gguf", "zai-org/GLM-4.5-Air", "", "UD-Q4_K_XL"},
      {"qwen3-8b.Q5_K_M.gguf", "Qwen/Qwen3-8B", "", "Q5_K_M"},
      {"gpt-oss-120b-mxfp4-00001-of-00003.gguf", "openai/gpt-oss-120b", "", "MXFP4_MOE"},
      {"Qwen_Qwen3-32B-Q6_K.gguf", "Qwen/Qwen3-32B", "", "Q6_K"},
      // Ollama
      {"llama3.3:70b-instruct-q3_K_M", "meta-llama/Llama-3.3-70B-Instruct", "", "Q3_K_M"},
      {"qwen3:30b-a3b-instruct-2507-q4_K_M", "Qwen/Qwen3-30B-A3B-Instruct-2507", "", "Q4_K_M"},
      {"llama3.1:8b", "meta-llama/Llama-3.1-8B", "", "Q4_K_M"},
      {"gpt-oss:20b", "openai/gpt-oss-20b", "mxfp4", ""},
      {"qwen3:latest", "Qwen/Qwen3-8B", "", "Q4_K_M"},
      {"qwen3", "Qwen/Qwen3-8B", "", ""},
      {"gemma3:27b-it-qat", "google/gemma-3-27b-it", "", "Q4_0 --token-embedding-type f16"},
      // dates and tunings
      {"Qwen/Qwen3-32B-2512", "Qwen/Qwen3-32B", "", ""},
      {"someone/Qwen3-8B-Instruct", "Qwen/Qwen3-8B", "", ""},
      {"https://huggingface.co/Qwen/Qwen3-8B/", "Qwen/Qwen3-8B", "", ""},
  };
  for (const auto& c : cases) {
    const auto model = resolve_model(c.asked);
    ASSERT_TRUE(model) << c.asked << ": " << model.error().message;
    EXPECT_EQ(model->id, c.id) << c.asked;
    const json::Value* method = model->quantization_config.find("quant_method");
    EXPECT_EQ(method != nullptr ? method->as_string() : "", c.method) << c.asked;
    EXPECT_EQ(model->weights, c.weights) << c.asked;
  }
  const auto model = resolve_model("RedHatAI/Qwen3-8B-FP8-dynamic");
  ASSERT_TRUE(model);
  ASSERT_EQ(model->notes.assumptions.size(), 2U);
  EXPECT_EQ(model->notes.assumptions[0].id, "model_variant");
  EXPECT_EQ(model->notes.assumptions[1].id, "stored_format");
}

TEST(ModelRef, AListedQuantisedModelKeepsItsOwnLists) {
  const auto model = resolve_model("nvidia/Qwen3-235B-A22B-NVFP4");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->id, "nvidia/Qwen3-235B-A22B-NVFP4");
  EXPECT_TRUE(vramwise::contains(json::dump(model->quantization_config), "mlp.gate"));
  // A sibling that is not quantised although its base is.
  const auto plain = resolve_model("mistralai/Mistral-Small-3.2-24B-Instruct-2506");
  ASSERT_TRUE(plain);
  EXPECT_TRUE(plain->quantization_config.is_null());
}

TEST(ModelRef, NeverGuessesAnotherSize) {
  for (const std::string_view asked :
       {"meta-llama/Llama-3.1-9B", "Qwen/Qwen3-13B-AWQ", "qwen3-8", "llama3.1:9b", "gpt-oss-21b"}) {
    const auto model = resolve_model(asked);
    ASSERT_FALSE(model) << asked;
    EXPECT_EQ(model.error().code, ErrorCode::not_found);
    EXPECT_FALSE(model.error().hints.empty());
  }
  EXPECT_TRUE(
      vramwise::contains(resolve_model("Qwen/Qwen3-31B").error().hints.front(), "Qwen/Qwen3-32B"));
  EXPECT_FALSE(resolve_model("x.gguf"));
  EXPECT_FALSE(resolve_model(".gguf"));
  EXPECT_FALSE(resolve_model("-of-2.gguf"));
  EXPECT_FALSE(resolve_model(""));
  EXPECT_FALSE(resolve_model("-AWQ"));
  EXPECT_FALSE(resolve_model(":Q4_K_M"));
  EXPECT_FALSE(resolve_model(std::string(100'000, '-')));
}

TEST(StoredFormat, KnowsTheTypesOfGgufFiles) {
  EXPECT_EQ(gguf_type("q4_K_M"), "Q4_K_M");
  EXPECT_EQ(gguf_type("IQ2_XXS"), "IQ2_XXS");
  EXPECT_EQ(gguf_type("UD-Q4_K_XL"), "UD-Q4_K_XL");
  EXPECT_EQ(gguf_type("fp16"), "F16");
  EXPECT_EQ(gguf_type("bf16"), "BF16");
  EXPECT_EQ(gguf_type("MXFP4_MOE"), "MXFP4_MOE");
  for (const std::string_view no :
       {"", "8b", "latest", "Q", "Q9_0", "Q4", "Q4_", "Q4_KM", "main"}) {
    EXPECT_FALSE(gguf_type(no)) << no;
  }
}

}  // namespace
}  // namespace vramwise::catalog
