// Terms that vLLM 0.19.0 prints at debug level on H100 (79.19 GiB), fifty-odd starts of which are
// public: llm-d-incubation/llm-d-planner accuracy/results/v0.19.0/logs (commit d3121e05).
#include <gtest/gtest.h>

#include <string>

#include "engines/vllm/build.h"
#include "engines/vllm/kernel.h"
#include "support/questions.h"

namespace vramwise::engines::vllm {
namespace {

constexpr Bytes kH100(85'029'027'840);

Build start(const char* config, std::string_view options, int count = 1,
            std::string_view gpu = "h100-sxm", std::string_view version = "0.19.0") {
  const testing::Asked asked = testing::ask({.config = config,
                                             .gpu = gpu,
                                             .count = count,
                                             .total = gpu == "h100-sxm" ? kH100 : Bytes(),
                                             .version = version,
                                             .options = options});
  Notes notes;
  auto b = build(asked.question(), notes);
  EXPECT_TRUE(b);
  return b ? std::move(*b) : Build();
}

VllmTotals last_rank(const Build& b) { return evaluate(b.stages.back().shape, point_of(b, kH100)); }

Bytes splits(const Build& b) { return Bytes(b.stages.front().shape.graph_split_per_token) * 512; }

double gib(Bytes b) { return double(b.count()) / double(GiB(1).count()); }

// "Estimated FULL CUDA graph memory: 260.00 MiB first-capture + (51-1) x 6.00 MiB per-graph", at
// TP 4 "70.00 MiB": 32 heads of 128, fp32, 32 parts, 512 tokens.
TEST(VllmDebugLog, AttentionKeepsPartialResultsOfFullGraphs) {
  EXPECT_EQ(splits(start(testing::kLlama8b, "{}")), MiB(256));
  EXPECT_EQ(splits(start(testing::kLlama8b, R"({"tensor_parallel_size":4})", 4)), MiB(64));
  EXPECT_EQ(splits(start(testing::kLlama8b,
                         R"({"attention_config.flash_attn_max_num_splits_for_cuda_graph":8})")),
            MiB(64));
  // Learned sinks ("6.00 MiB first-capture"), other attention, other cards, other times.
  EXPECT_EQ(splits(start(testing::kGptOss20b, "{}")), Bytes());
  EXPECT_EQ(splits(start(testing::kLlama8b, R"({"dtype":"float32"})")), Bytes());
  EXPECT_EQ(splits(start(testing::kLlama8b, R"({"attention_backend":"TRITON_ATTN"})")), Bytes());
  EXPECT_EQ(splits(start(testing::kLlama8b, "{}", 1, "a100-sxm4-80")), Bytes());
  EXPECT_EQ(splits(start(testing::kLlama8b, "{}", 1, "h100-sxm", "0.10.2")), Bytes());
}

// 0.84 GiB for Llama-3.1-8B, 0.57 at TP 4; a list of sizes leaves less.
TEST(VllmDebugLog, GraphEstimates) {
  EXPECT_NEAR(gib(last_rank(start(testing::kLlama8b, "{}")).graphs), 0.84, 0.08);
  EXPECT_NEAR(gib(last_rank(start(testing::kLlama8b, R"({"tensor_parallel_size":4})", 4)).graphs),
              0.57, 0.10);
  const VllmTotals few = last_rank(
      start(testing::kLlama8b, R"({"cudagraph_capture_sizes":[1,2,4],"max_num_seqs":4})"));
  EXPECT_LT(few.graphs, MiB(96));
  EXPECT_EQ(last_rank(start(testing::kLlama8b, R"({"enforce_eager":true})")).graphs, Bytes());
}

// 1.89 GiB in 16 bits, 2.21 in float32, whose logits have four bytes.
TEST(VllmDebugLog, LogitsHaveTheModelsType) {
  EXPECT_NEAR(gib(last_rank(start(testing::kLlama8b, "{}")).activations.peak), 1.89, 0.011);
  const VllmTotals full = last_rank(start(testing::kLlama8b, R"({"dtype":"float32"})"));
  EXPECT_NEAR(gib(full.activations.peak), 2.21, 0.011);
}

// gpt-oss-20b: 2.87 GiB on one card and on two, so that no workspace of its experts stays.
TEST(VllmDebugLog, TritonsExpertsKeepNoWorkspace) {
  for (const int ranks : {1, 2}) {
    const std::string options = R"({"tensor_parallel_size":)" + std::to_string(ranks) + "}";
    const Build b = start(testing::kGptOss20b, options, ranks);
    EXPECT_NEAR(gib(last_rank(b).activations.peak), 2.87, 0.011) << ranks;
  }
  const Build a100 = start(testing::kGptOss20b, "{}", 1, "a100-sxm4-80");
  EXPECT_TRUE(a100.stages.front().shape.expert_workspace_stays);  // Marlin
}

// Gemma 3 27B: 3.99 GiB with 32 images of 896 x 896 pixels, which stay beside their outputs.
TEST(VllmDebugLog, ItemsStayBesideTheirOutputs) {
  const Build b = start(
      R"({"architectures":["Gemma3ForConditionalGeneration"],"model_type":"gemma3",
          "mm_tokens_per_image":256,
          "text_config":{"model_type":"gemma3_text","hidden_size":5376,"intermediate_size":21504,
            "num_hidden_layers":62,"num_attention_heads":32,"num_key_value_heads":16,
            "head_dim":128,"sliding_window":1024,"max_position_embeddings":131072},
          "vision_config":{"hidden_size":1152,"image_size":896,"intermediate_size":4304,
            "model_type":"siglip_vision_model","num_attention_heads":16,
            "num_hidden_layers":27,"patch_size":14}})",
      R"({"max_model_len":8192})");
  const VllmActivations a = last_rank(b).activations;
  EXPECT_EQ(a.outputs, Bytes(31 * (3 * 896 * 896 + 256 * 5376) * 2));
  EXPECT_NEAR(gib(a.peak), 3.99, 0.015);
}

// Two stages: 2.01 GiB on the last, 1.1 on the first, 0.07 outside of torch on both.
TEST(VllmDebugLog, StagesHandOnWholeBatches) {
  const Build b = start(testing::kLlama8b, R"({"pipeline_parallel_size":2})", 2);
  ASSERT_EQ(b.stages.size(), 2U);
  EXPECT_NEAR(gib(last_rank(b).activations.peak), 2.01, 0.011);
  const VllmTotals first = evaluate(b.stages.front().shape, point_of(b, kH100));
  EXPECT_NEAR(gib(first.activations.peak), 1.10, 0.11);
  EXPECT_EQ(b.profile.non_torch.likely, MiB(72));
}

}  // namespace
}  // namespace vramwise::engines::vllm
