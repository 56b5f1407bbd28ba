// Worked examples of TensorRT-LLM's cache: tensorrt_llm/_torch/pyexecutor/_util.py. The peak
// without the trial cache is an input of each.
#include "engines/trtllm/rank_plan.h"

#include <gtest/gtest.h>

#include "support/questions.h"

namespace vramwise::engines::trtllm {
namespace {

constexpr Bytes kH100(int64_t{40561} << 21);
constexpr Bytes kH200(int64_t{71583} << 21);

Setup set_up(const testing::Asked& asked, Notes& notes) {
  auto setup = read_setup(asked.question(), notes);
  EXPECT_TRUE(setup) << (setup ? "" : setup.error().message);
  return setup ? std::move(*setup) : Setup();
}

// The plan of the first rank where everything beside the cache takes `peak`.
RankPlan with_peak(const testing::Asked& asked, Bytes peak) {
  Notes notes;
  Setup setup = set_up(asked, notes);
  const Device& device = asked.hardware.devices[0];
  const RankPlan first = plan_rank(asked.question(), setup, device, notes);
  setup.overhead = ByteRange::exactly(peak - first.weights.likely);
  return plan_rank(asked.question(), setup, device, notes);
}

TEST(TrtllmWorkedExamples, Llama8b) {
  const RankPlan r = with_peak(
      testing::ask(
          {.config = testing::kLlama8b, .total = kH100, .options = R"({"max_batch_size":128})"}),
      GiB(18));
  EXPECT_EQ(r.cache.likely.count(), 59161706496);
  EXPECT_EQ(r.per_token.count(), 131072);
  EXPECT_EQ(r.tokens, 14105 * 32);
  // The trial cache of the longest sequence: ceil(131,073 / 32) blocks.
  EXPECT_GE(r.trial.count(), int64_t{4097} * 32 * 131072);
}

TEST(TrtllmWorkedExamples, Llama70bOnFour) {
  const RankPlan r = with_peak(testing::ask({.config = testing::kLlama70b,
                                             .count = 4,
                                             .total = kH100,
                                             .options = R"({"tensor_parallel_size":4})"}),
                               GiB(36));
  EXPECT_EQ(r.cache.likely.count(), 41767088947);
  EXPECT_EQ(r.per_token.count(), 81920);
  EXPECT_EQ(r.tokens, 15932 * 32);
}

TEST(TrtllmWorkedExamples, Qwen30b) {
  const RankPlan r =
      with_peak(testing::ask({.config = testing::kQwen30bA3b, .total = kH100}), GiB(60));
  EXPECT_EQ(r.cache.likely.count(), 18574265548);
  EXPECT_EQ(r.per_token.count(), 98304);
  EXPECT_EQ(r.tokens, 5904 * 32);
}

TEST(TrtllmWorkedExamples, DeepSeekOnEight) {
  const auto at = [](std::string_view options) {
    return with_peak(
        testing::ask(
            {.config = testing::kDeepSeekV3, .count = 8, .total = kH200, .options = options}),
        GiB(86));
  };
  const RankPlan full = at(R"({"tensor_parallel_size":8})");
  EXPECT_EQ(full.cache.likely.count(), 52000771276);
  EXPECT_EQ(full.per_token.count(), 70272);
  EXPECT_EQ(full.tokens, 23124 * 32);
  const RankPlan half = at(R"({"tensor_parallel_size":8,"kv_cache_dtype":"fp8"})");
  EXPECT_EQ(half.per_token.count(), 35136);
  EXPECT_EQ(half.tokens, 1479985 / 32 * 32);
}

// Windows save nothing in the estimate: 24 layers of 2,048 bytes.
TEST(TrtllmWorkedExamples, GptOss20b) {
  const RankPlan r =
      with_peak(testing::ask({.config = testing::kGptOss20b, .total = kH100}), GiB(16));
  EXPECT_EQ(r.cache.likely.count(), 61094441779);
  EXPECT_EQ(r.per_token.count(), 2 * 24576);
  EXPECT_EQ(r.tokens, 38842 * 32);
}

// Latent attention keeps the key half of kv_b_proj twice; with fp8 blocks on Blackwell both halves
// once more in 16 bits. One half of a layer: 128 heads / 8 x 512 x 128 elements.
TEST(TrtllmWeights, LatentAttentionKeepsCopies) {
  constexpr int64_t kHalf = 128 / 8 * 512 * 128;
  const auto copies = [](std::string_view gpu) {
    const testing::Asked asked = testing::ask({.config = testing::kDeepSeekV3,
                                               .gpu = gpu,
                                               .count = 8,
                                               .options = R"({"tensor_parallel_size":8})"});
    Notes notes;
    const auto setup = set_up(asked, notes);
    return plan_rank(asked.question(), setup, asked.hardware.devices[0], notes)
        .parts.bytes[size_t(WeightItem::absorbed)]
        .count();
  };
  EXPECT_EQ(copies("h200-sxm"), 61 * kHalf);
  EXPECT_EQ(copies("b200"), 61 * (kHalf + 2 * 2 * kHalf));
}

// 1.2.0.post3 with MTP divided by the 61 layers of the trunk (68.37 GiB, max_tokens 2,089,283:
// zufayu/ClaudeSkillsE2EPerf, b200_dsr_fp8_mtp3_ep1_tp8_post3) while the pool holds 62; vanilla MTP
// repeats the layer's weights and cache.
TEST(TrtllmWorkedExamples, DraftingLayersInTheEstimate) {
  const auto planned = [](std::string_view version, std::string_view vanilla) {
    const std::string options =
        R"({"tensor_parallel_size":8,"kv_cache_dtype":"fp8","speculative_config":)"
        R"({"decoding_type":"MTP","num_nextn_predict_layers":3,"use_mtp_vanilla":)" +
        std::string(vanilla) + "}}";
    const testing::Asked asked = testing::ask(
        {.config = testing::kDeepSeekV3, .count = 8, .version = version, .options = options});
    Notes notes;
    const auto setup = set_up(asked, notes);
    return plan_rank(asked.question(), setup, asked.hardware.devices[0], notes);
  };
  constexpr int64_t kLayer = 576;
  EXPECT_EQ(planned("1.2", "false").estimated_per_token.count(), 61 * kLayer);
  EXPECT_EQ(planned("1.2", "false").per_token.count(), 62 * kLayer);
  EXPECT_EQ(planned("1.3", "false").estimated_per_token.count(), 62 * kLayer);
  EXPECT_EQ(planned("1.3", "true").per_token.count(), 64 * kLayer);
  EXPECT_EQ(planned("1.3", "true").parts.of(WeightItem::mtp),
            planned("1.3", "false").parts.of(WeightItem::mtp) * 3);
}

// With attention data parallelism every rank holds embedding, head, dense layers and shared experts
// in full; the prediction module brings no embedding of its own.
TEST(TrtllmWeights, DataParallelAttentionKeepsTheRestWhole) {
  const auto parts = [](std::string_view options) {
    const testing::Asked asked =
        testing::ask({.config = testing::kDeepSeekV3, .count = 8, .options = options});
    Notes notes;
    const auto setup = set_up(asked, notes);
    return plan_rank(asked.question(), setup, asked.hardware.devices[0], notes).parts;
  };
  const RankWeights split = parts(R"({"tensor_parallel_size":8})");
  const RankWeights whole = parts(R"({"tensor_parallel_size":8,"enable_attention_dp":true})");
  constexpr int64_t kTable = int64_t{129280} * 7168 * 2;
  EXPECT_EQ(split.of(WeightItem::embedding).count(), kTable);
  EXPECT_EQ(whole.of(WeightItem::embedding).count(), kTable);
  EXPECT_EQ(split.of(WeightItem::output_head).count(), kTable / 8);
  EXPECT_EQ(whole.of(WeightItem::output_head).count(), kTable);
  EXPECT_EQ(whole.of(WeightItem::feed_forward), split.of(WeightItem::feed_forward) * 8);
  EXPECT_EQ(whole.of(WeightItem::experts), split.of(WeightItem::experts));
  const RankWeights shared = parts(
      R"({"tensor_parallel_size":8,"enable_attention_dp":true,"enable_lm_head_tp_in_adp":true})");
  EXPECT_EQ(shared.of(WeightItem::output_head).count(), kTable / 8);
}

testing::Asked on_b200(std::string_view options) {
  return testing::ask({.config = testing::kDeepSeekV3,
                       .gpu = "b200",
                       .count = 8,
                       .version = "1.2.0",
                       .options = options});
}

// DeepSeek-R1-0528 in fp8 on 8 B200: 124.76 GiB after loading with DEEPGEMM, 81.86 with TRTLLM
// (zufayu/ClaudeSkillsE2EPerf b200_dsr_fp8_mtp0_ep1_tp8_post3). 256 experts x 8,192 tokens x
// (7,168 + 2 x 7,168 + 56) B are 42.11 GiB of the 42.90 between them.
TEST(TrtllmWeights, DeepGemmWorkspace) {
  const auto with = [](std::string_view options) {
    const auto asked = on_b200(options);
    Notes notes;
    return plan_rank(asked.question(), set_up(asked, notes), asked.hardware.devices[0], notes);
  };
  EXPECT_EQ(with(R"({"tensor_parallel_size":8,"moe_config.backend":"TRTLLM"})").workspace.high,
            Bytes());
  const Bytes whole =
      with(R"({"tensor_parallel_size":8,"moe_config.backend":"DEEPGEMM"})").workspace.likely;
  EXPECT_EQ(whole, Bytes(int64_t{256} * 8192 * (7168 + 2 * 7168 + 56)));
  EXPECT_EQ(with(R"({"tensor_parallel_size":8,"moe_config.backend":"DEEPGEMM",
                     "moe_config.max_num_tokens":4096})")
                .workspace.likely,
            whole / 2);
}

// The same on NVFP4: graphs for 1 and for 11 sizes, and 8 expert ranks (2.6 GiB more).
TEST(TrtllmOverhead, GraphsAndExpertRanks) {
  const auto overhead = [](std::string_view more) {
    const std::string options = R"({"tensor_parallel_size":8)" + std::string(more) + "}";
    Notes notes;
    return set_up(on_b200(options), notes).overhead.likely;
  };
  const Bytes eleven = overhead(R"(,"cuda_graph_config.max_batch_size":64)");
  EXPECT_EQ(eleven - overhead(R"(,"cuda_graph_config.max_batch_size":1)"), MiB(10 * 18));
  EXPECT_EQ(overhead(R"(,"cuda_graph_config.max_batch_size":256)") - eleven, MiB(9 * 18));
  EXPECT_EQ(overhead(R"(,"cuda_graph_config.batch_sizes":[1,2])") - eleven, -MiB(9 * 18));
  EXPECT_EQ(
      overhead(R"(,"cuda_graph_config.max_batch_size":64,"moe_expert_parallel_size":8)") - eleven,
      MiB(2700));
}

// "Allocated 0.56 GiB for max tokens in paged KV cache (8224)" for gpt-oss-120b on a GB10 with
// 1.1.0rc3, whose longest sequence is 131,072 and whose iteration 8,192 tokens; with 8,320 of them
// 8,352 are printed for DeepSeek-R1 on 1.2.0 (zufayu/ClaudeSkillsE2EPerf).
TEST(TrtllmTrial, TokensOfOneIteration) {
  const auto trial = [](std::string_view options) {
    const RankPlan r = with_peak(
        testing::ask(
            {.config = testing::kLlama8b, .total = kH100, .version = "1.1.0", .options = options}),
        GiB(18));
    return r.trial / r.per_token;
  };
  EXPECT_EQ(trial("{}"), 8224);
  EXPECT_EQ(trial(R"({"max_num_tokens":8320})"), 8352);
  EXPECT_EQ(trial(R"({"max_seq_len":2048})"), 2080);
}

}  // namespace
}  // namespace vramwise::engines::trtllm
