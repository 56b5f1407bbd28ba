// Budgets worked out by hand from vLLM's source (v1/worker/gpu_worker.py,
// v1/core/kv_cache_utils.py, model_executor/layers) and public start-up logs; every figure to the
// byte.
#include <gtest/gtest.h>

#include <string>

#include "engines/vllm/build.h"
#include "support/questions.h"

namespace vramwise::engines::vllm {
namespace {

using testing::ask;
using testing::Ask;
using testing::Asked;

// cudaMemGetInfo total of an H100 with 80 GB, and of an H200.
constexpr Bytes kH100(int64_t{40561} << 21);
constexpr Bytes kH200(int64_t{71583} << 21);

Build built(const Asked& asked) {
  Notes notes;
  auto b = build(asked.question(), notes);
  EXPECT_TRUE(b) << (b ? "" : b.error().message);
  return b ? std::move(*b) : Build{};
}

// The examples state non-torch memory and graph estimate as inputs.
VllmTotals totals(const Build& b, Bytes total, int64_t non_torch, int64_t graphs) {
  VllmShape shape = b.stages.front().shape;
  shape.non_torch = Bytes(non_torch);
  shape.all_reduce_row = 0;
  shape.graph_piece_bytes = shape.graph_full_bytes = Bytes();
  shape.graph_first = Bytes();
  shape.graph_first_per_token = shape.graph_split_per_token = 0;
  shape.graph_workspace = Bytes(graphs);
  return evaluate(shape, point_of(b, total));
}

TEST(VllmWorkedExamples, Llama8b) {
  const Asked asked = ask({.config = testing::kLlama8b, .total = kH100, .version = "0.22.0"});
  const Build b = built(asked);
  ASSERT_EQ(b.stages.size(), 1u);
  EXPECT_EQ(b.decided.batch_tokens, 8192);
  EXPECT_EQ(b.decided.max_seqs, 1024);
  const VllmTotals t = totals(b, kH100, 157286400, 536870912);
  EXPECT_EQ(t.requested.count(), 78257575691);
  EXPECT_EQ(t.weights.count(), 16094076928);  // 16,060,522,496 of tensors and a rotary table
  // Sampler warm-up with its Triton buffer, and cuBLAS' workspace.
  EXPECT_EQ(t.activations.peak.count(), 2023837696);
  EXPECT_EQ(t.available.count(), 78257575691 - 16094076928 - 2023837696 - 157286400 - 536870912);
  EXPECT_EQ(b.stages[0].shape.block_bytes.count(), 65536 * 32);
  EXPECT_EQ(t.pages_per_request, 8192);
  EXPECT_EQ(t.blocks, t.available.count() / (65536 * 32));
  // Without the sampler's Triton buffer and cuBLAS' workspace: 28,394 blocks, 454,304 tokens.
  EXPECT_EQ(Bytes(59546777355) / b.stages[0].shape.block_bytes, 28394);
  EXPECT_EQ(pool_figure(b.stages[0].shape, 28394, 131072, 8192), 454304);
}

TEST(VllmWorkedExamples, Llama70bOnFourRanks) {
  const Asked asked = ask({.config = testing::kLlama70b,
                           .count = 4,
                           .total = kH100,
                           .version = "0.22.0",
                           .options = R"({"tensor_parallel_size":4})"});
  const Build b = built(asked);
  const VllmTotals t = totals(b, kH100, 629145600, 536870912);
  EXPECT_EQ(t.weights.count(),
            35312386048 + 2 * 1048576);  // embedding and head: blocks of 502 for 501 MiB
  EXPECT_EQ(b.stages[0].shape.block_bytes.count(), 16384 * 80);
  EXPECT_EQ(Bytes(39707055883) / b.stages[0].shape.block_bytes, 30294);
  EXPECT_EQ(pool_figure(b.stages[0].shape, 30294, 131072, 8192), 484704);
}

TEST(VllmWorkedExamples, Qwen30bA3b) {
  const Asked asked = ask({.config = testing::kQwen30bA3b, .total = kH100, .version = "0.22.0"});
  const Build b = built(asked);
  const VllmTotals t = totals(b, kH100, 157286400, 536870912);
  EXPECT_EQ(t.weights.count(), 61074731008 + 2 * 524288);  // the same, of 594 for 593.5 MiB
  EXPECT_EQ(t.activations.experts.count(), 536870912);     // two workspaces of the routed rows
  EXPECT_EQ(t.activations.peak.count(), 2756968448 + 132 * 4 * int64_t{151936} + 33554432);
  EXPECT_EQ(b.stages[0].shape.block_bytes.count(), 32768 * 48);
  EXPECT_EQ(Bytes(13731718923) / b.stages[0].shape.block_bytes, 8730);
  EXPECT_EQ(pool_figure(b.stages[0].shape, 8730, 40960, 8192), 139680);
}

TEST(VllmWorkedExamples, DeepSeekV3OnEightRanks) {
  const Asked asked = ask({.config = testing::kDeepSeekV3,
                           .gpu = "h200-sxm",
                           .count = 8,
                           .total = kH200,
                           .version = "0.22.0",
                           .options = R"({"tensor_parallel_size":8,"moe_backend":"deep_gemm"})"});
  const Build b = built(asked);
  const VllmTotals t = totals(b, kH200, 0, 0);
  EXPECT_EQ(t.requested.count(), 138110797087);
  EXPECT_EQ(t.weights.count(),
            85437926432 + 2359296);  // tensors, and what their blocks hold beyond them
  EXPECT_EQ(t.activations.experts.count(), 2811232256);  // DeepGEMM's rows, aligned per expert
  EXPECT_EQ(b.stages[0].shape.block_bytes.count(), 18432 * 61);
  EXPECT_EQ(Bytes(45680900351) / b.stages[0].shape.block_bytes, 40628);
  EXPECT_EQ(pool_figure(b.stages[0].shape, 40628, 163840, 8192), 650048);
}

TEST(VllmWorkedExamples, GptOss20bOnMarlin) {
  const Asked asked = ask({.config = testing::kGptOss20b,
                           .gpu = "a100-sxm4-80",
                           .version = "0.19.0",
                           .options = R"({"max_model_len":131072})"});
  const Build b = built(asked);
  EXPECT_EQ(b.decided.batch_tokens, 2048);  // an A100 is in the small tier whatever its memory
  const Stage& stage = b.stages.front();
  EXPECT_EQ(stage.shape.weights.count(), 14712781952);
  EXPECT_EQ(stage.pool.group_size, 12);
  EXPECT_EQ(stage.shape.block_bytes.count(), 393216);
  EXPECT_EQ(pages_of(stage.shape, 131072, 2048), 8192 + 137);
  EXPECT_EQ(need_of(stage.shape, 131072, 2048).count(), 3275096064);
  // Logged: 36.56 GiB, 99,833 blocks; half the blocks to each of two groups.
  EXPECT_EQ(pool_figure(stage.shape, 99833, 131072, 2048), 99833 / 2 * 16);
}

// From 0.21 on the pool is printed as concurrency times length: 99,833 blocks over 8,329 pages.
TEST(VllmWorkedExamples, GptOss20bByConcurrency) {
  const Asked asked = ask({.config = testing::kGptOss20b,
                           .gpu = "a100-sxm4-80",
                           .version = "0.22.0",
                           .options = R"({"max_model_len":131072})"});
  const Build b = built(asked);
  EXPECT_EQ(pool_figure(b.stages.front().shape, 99833, 131072, 2048), 1571054);
}

// DeepSeek-V3.2 stores 656 bytes of latent and 132 of index keys a layer and token.
TEST(VllmWorkedExamples, SparseLatentRows) {
  std::string config = testing::kDeepSeekV3;
  config.replace(config.find("deepseek_v3"), 11, "deepseek_v32");
  config.insert(1, R"("index_n_heads":64,"index_head_dim":128,"index_topk":2048,)");
  const Asked asked =
      ask({.config = config,
           .gpu = "h200-sxm",
           .count = 8,
           .total = kH200,
           .version = "0.22.0",
           .options = R"({"tensor_parallel_size":8,"kv_cache_dtype":"fp8_ds_mla"})"});
  const Build b = built(asked);
  EXPECT_EQ(b.stages[0].shape.block_bytes.count(), 61 * (64 * 656 + 64 * 132));
  EXPECT_EQ(Bytes(45680900351) / b.stages[0].shape.block_bytes, 14849);
  EXPECT_EQ(pool_figure(b.stages[0].shape, 14849, 163840, 8192), 950336);
}

TEST(VllmWorkedExamples, Gemma27bWindows) {
  const Asked asked = ask({.config = testing::kGemma27b,
                           .total = kH100,
                           .version = "0.22.0",
                           .options = R"({"max_model_len":131072})"});
  const Build b = built(asked);
  const Stage& stage = b.stages.front();
  EXPECT_EQ(stage.pool.group_size, 10);
  EXPECT_EQ(stage.pool.padding_layers, 8);
  EXPECT_NEAR(stage.pool.padding_share, 0.1538, 0.0001);
  EXPECT_EQ(stage.shape.groups, 7);
  EXPECT_EQ(stage.shape.block_bytes.count(), 1310720);
  EXPECT_EQ(pages_of(stage.shape, 131072, 8192), 11654);
  EXPECT_EQ(need_of(stage.shape, 131072, 8192).count(), 15275130880);
  EXPECT_EQ(pages_of(stage.shape, 32768, 8192), 5510);
  // From 0.26 on the windows hold two batches in flight.
  const Asked later = ask({.config = testing::kGemma27b,
                           .total = kH100,
                           .version = "0.26.0",
                           .options = R"({"max_model_len":131072})"});
  EXPECT_EQ(pages_of(built(later).stages[0].shape, 131072, 8192), 8192 + 6 * (1088 + 1));
  // Without the hybrid manager every layer keeps every token.
  const Asked full =
      ask({.config = testing::kGemma27b,
           .total = kH100,
           .version = "0.22.0",
           .options = R"({"max_model_len":131072,"disable_hybrid_kv_cache_manager":true})"});
  EXPECT_EQ(need_of(built(full).stages[0].shape, 131072, 8192).count(),
            int64_t{62} * 131072 * 8192);
}

// vllm issue 34076: Qwen3-Coder-30B over 16 and 32 layers asks 24.0 GiB (48 layers x 262,144
// tokens) of the poorer rank; with 3.18 GiB there the estimated maximum length is 34,736.
TEST(VllmWorkedExamples, OnePipelineCheckForAllLayers) {
  const auto needed = [](std::string_view version) {
    Asked asked = ask({.config = testing::kQwen30bA3b,
                       .gpu = "h100-sxm",
                       .count = 2,
                       .version = version,
                       .options = R"({"pipeline_parallel_size":2,"max_model_len":32768})"});
    asked.settings.env["VLLM_PP_LAYER_PARTITION"] = "16,32";
    const Build b = built(asked);
    return need_of(b.asked_of(b.stages.back()), 32768, 8192).count();
  };
  constexpr int64_t kLayerToken = 2 * 4 * 128 * 2;
  EXPECT_EQ(needed("0.13.0"), kLayerToken * 32 * 32768);
  EXPECT_EQ(needed("0.15.1"), kLayerToken * 48 * 32768);
  EXPECT_EQ(needed("0.16.0"), kLayerToken * 32 * 32768);
}

// Two slots of rank 16: (in + out) of every projection of a layer, 81,920 elements a rank and slot.
TEST(VllmWorkedExamples, AdapterSlots) {
  const auto adapters = [](std::string_view options) {
    const Build b = built(ask({.config = testing::kLlama8b, .options = options}));
    return b.stages[0].weights.bytes[size_t(WeightItem::lora)].count();
  };
  EXPECT_EQ(adapters("{}"), 0);
  EXPECT_EQ(adapters(R"({"enable_lora":true,"max_loras":2})"), int64_t{81920} * 32 * 16 * 2 * 2);
  EXPECT_EQ(adapters(R"({"enable_lora":true,"max_lora_rank":64})"), int64_t{81920} * 32 * 64 * 2);
}

constexpr const char* kGemma3 =
    R"({"model_type":"gemma3","architectures":["Gemma3ForConditionalGeneration"],
 "mm_tokens_per_image":256,
 "text_config":{"model_type":"gemma3_text","hidden_size":5376,"num_hidden_layers":62,"num_attention_heads":32,
   "num_key_value_heads":16,"head_dim":128,"intermediate_size":21504,"sliding_window":1024,"vocab_size":262208},
 "vision_config":{"hidden_size":1152,"intermediate_size":4304,"num_hidden_layers":27,"num_attention_heads":16,
   "image_size":896,"patch_size":14}})";
constexpr const char* kQwen3Vl =
    R"({"model_type":"qwen3_vl","architectures":["Qwen3VLForConditionalGeneration"],
 "text_config":{"model_type":"qwen3_vl_text","hidden_size":2048,"num_hidden_layers":28,"num_attention_heads":16,
   "num_key_value_heads":8,"head_dim":128,"intermediate_size":6144,"vocab_size":151936,
   "max_position_embeddings":262144,"tie_word_embeddings":true},
 "vision_config":{"depth":24,"hidden_size":1024,"intermediate_size":4096,"num_heads":16,"patch_size":16,
   "spatial_merge_size":2,"temporal_patch_size":2,"out_hidden_size":2048,"num_position_embeddings":2304,
   "deepstack_visual_indexes":[5,11,17]}})";

// Gemma 3 27B at 0.11: "a budget of 8192 tokens, and profiled with 31 image items" (an image is 256
// tokens and four around it), with limit_mm_per_prompt {"image": 2} and 4,096 tokens a request.
TEST(VllmWorkedExamples, EncoderBudget) {
  const auto items = [](const char* config, std::string_view options) {
    const Asked asked =
        ask({.config = config, .total = kH100, .version = "0.11.0", .options = options});
    const Build b = built(asked);
    return profiled_items(b.stages.front().shape, point_of(b, kH100));
  };
  EXPECT_EQ(items(kGemma3, R"({"max_model_len":4096,"limit_mm_per_prompt":{"image":2}})"), 31);
  // Eight sequences of one image each bring no more.
  EXPECT_EQ(items(kGemma3, R"({"max_num_seqs":8,"limit_mm_per_prompt":{"image":1}})"), 8);
  EXPECT_EQ(items(kGemma3, R"({"max_num_seqs":2,"max_model_len":600})"), 4);
  EXPECT_EQ(items(kGemma3, R"({"limit_mm_per_prompt":{"image":0}})"), 0);
  // Qwen's largest image fills the budget by itself; a processor told otherwise makes it smaller.
  EXPECT_EQ(items(kQwen3Vl, "{}"), 1);
  EXPECT_EQ(items(kQwen3Vl, R"({"limit_mm_per_prompt":{"video":0},
                               "mm_processor_kwargs":{"max_pixels":1048576}})"),
            8192 / 1024);
  // It reads videos too: without images they are profiled, and its tower stays.
  EXPECT_EQ(items(kQwen3Vl, R"({"limit_mm_per_prompt":{"image":0}})"), 1);
  EXPECT_EQ(items(kQwen3Vl, R"({"limit_mm_per_prompt":{"audio":0}})"), 1);
  EXPECT_EQ(items(kQwen3Vl, R"({"limit_mm_per_prompt":{"image":0,"video":0}})"), 0);
}

// 0.11 and 0.12 copy what the encoder makes of an item to as many rows as the budget has, and count
// Qwen3-VL's timestamps with its videos: 12,288 tokens and 12.5 times as many in the prompt, as
// "a budget of 153600 tokens, and profiled with 1 video items" says (vllm issue 27992). 0.13 keeps
// what the encoder made (vllm PR 25810, PR 30475).
TEST(VllmWorkedExamples, RowsOfABudget) {
  const auto outputs = [](const char* config, std::string_view version, std::string_view options) {
    const Asked asked =
        ask({.config = config, .total = kH100, .version = version, .options = options});
    const Build b = built(asked);
    const VllmTotals totals = evaluate(b.stages.front().shape, point_of(b, kH100));
    return totals.activations.outputs.count();
  };
  const int64_t patch = 3 * 2 * 16 * 16 * 2, row = 2048 * 4 * 2;  // three levels beside the last
  EXPECT_EQ(outputs(kQwen3Vl, "0.11.0", "{}"), int64_t{12288} * 4 * patch + int64_t{153600} * row);
  EXPECT_EQ(outputs(kQwen3Vl, "0.12.0", R"({"limit_mm_per_prompt":{"video":0}})"),
            int64_t{16384} * (4 * patch + row));
  EXPECT_EQ(outputs(kQwen3Vl, "0.13.0", "{}"), int64_t{16384} * (4 * patch + row));
  EXPECT_EQ(outputs(kQwen3Vl, "0.10.2", "{}"), int64_t{16384} * (4 * patch + row));
  // 31 images of Gemma 3, and 8,192 rows for each.
  constexpr std::string_view kShort = R"({"max_model_len":4096})";
  EXPECT_EQ(outputs(kGemma3, "0.11.0", kShort) - outputs(kGemma3, "0.13.0", kShort),
            int64_t{31} * (8192 - 256) * 5376 * 2);
}

// Gemma 4's media see both ways, so that a video of 2,496 tokens is not split over batches: 0.20 to
// 0.22 stop where a batch is smaller, later ones raise their default (vllm issue 42687, PR 43051).
// Gemma 4 12B on an A10 at 0.26.0 prints 256,669 tokens and 3.92x of 65,536 for 11.13 GiB.
TEST(VllmWorkedExamples, ItemsThatAreNotSplit) {
  const auto gemma = [](std::string_view version, std::string_view options, std::string_view more) {
    const std::string config =
        R"({"model_type":"gemma4_unified","architectures":["Gemma4UnifiedForConditionalGeneration"],
 "dtype":"bfloat16","vision_config":{"model_type":"gemma4_unified_vision","model_patch_size":48},
 "text_config":{"model_type":"gemma4_unified_text","hidden_size":3840,"intermediate_size":15360,
  "num_hidden_layers":48,"num_attention_heads":16,"num_key_value_heads":8,"head_dim":256,
  "num_global_key_value_heads":1,"global_head_dim":512,"attention_k_eq_v":true,
  "sliding_window":1024,"vocab_size":262144,"max_position_embeddings":262144)" +
        std::string(more) + "}}";
    return ask({.config = config, .gpu = "a10", .version = version, .options = options});
  };
  constexpr std::string_view k65536 = R"({"max_model_len":65536})";
  const Build b = built(gemma("0.26.0", k65536, ""));
  EXPECT_EQ(b.decided.batch_tokens, 2496);
  // 377 blocks hold a window, two batches and the block that both begin in; 40 layers of 8,192 B.
  const int64_t window = 377 * 16, tokens = 65536;
  EXPECT_EQ(need_of(b.stages[0].shape, tokens, 2496).count(),
            window * 40 * 8192 + tokens * 8 * 2048);
  const auto batch_of = [&](std::string_view version, std::string_view options,
                            std::string_view more, int64_t beyond) {
    const Build of = built(gemma(version, options, more));
    EXPECT_EQ(of.decided.item_beyond_batch, beyond) << version << options;
    return of.decided.batch_tokens;
  };
  EXPECT_EQ(batch_of("0.22.0", k65536, "", 2496), 2048);
  EXPECT_EQ(batch_of("0.19.0", k65536, "", 0), 2048);
  EXPECT_EQ(batch_of("0.26.0", R"({"max_num_batched_tokens":1024})", "", 2496), 1024);
  EXPECT_EQ(batch_of("0.26.0", R"({"language_model_only":true})", "", 0), 2048);
  // E2B and E4B see forward only.
  EXPECT_EQ(batch_of("0.26.0", k65536, R"(,"hidden_size_per_layer_input":256)", 0), 2048);
  // A batch that was given too small ends the start; the default may stand for one that a line or a
  // log left out.
  const Assessment given =
      testing::assess("vllm", gemma("0.26.0", R"({"max_num_batched_tokens":1024})", ""));
  ASSERT_EQ(given.refusals.size(), 1u);
  EXPECT_EQ(given.refusals[0].engine_error,
            "Chunked MM input disabled but max_tokens_per_mm_item (2496) is larger than "
            "max_num_batched_tokens (1024). Please increase max_num_batched_tokens.");
  const Assessment left_out = testing::assess("vllm", gemma("0.22.0", k65536, ""));
  EXPECT_TRUE(left_out.refusals.empty());
  const Requirement* doubted = testing::find(left_out, "max_num_batched_tokens");
  ASSERT_NE(doubted, nullptr);
  EXPECT_EQ(doubted->needed.likely, Bytes(2496));
  EXPECT_EQ(doubted->available.low, Bytes(2048));
}

// NVML does not tell the memory of a GB10, so that the smallest tier of batches holds (vllm PR
// 57378: 2048 and 256, 8192 for batch programs). It shares its memory with the system: bars of its
// own, and items for an encoder are made in it.
TEST(VllmWorkedExamples, UnifiedMemory) {
  const auto spark = [](const char* config, std::string_view options) {
    return built(
        ask({.config = config, .gpu = "dgx-spark-gb10", .version = "0.20.0", .options = options}));
  };
  const Build b = spark(testing::kLlama8b, "{}");
  EXPECT_EQ(b.decided.batch_tokens, 2048);
  EXPECT_EQ(b.decided.max_seqs, 256);
  EXPECT_EQ(b.profile.non_torch.likely, MiB(2421));
  EXPECT_EQ(spark(testing::kLlama8b, R"({"program":"LLM"})").decided.batch_tokens, 8192);
  EXPECT_EQ(spark(kQwen3Vl, "{}").profile.non_torch.likely, MiB(3079));
  EXPECT_EQ(spark(kQwen3Vl, R"({"language_model_only":true})").profile.non_torch.likely, MiB(2421));
}

// Public log of Qwen3.5-122B-A10B at TP 8 with three predicted tokens: attention block 544, padded
// by 2.64 %.
TEST(VllmWorkedExamples, StatesRaiseTheBlock) {
  const Asked asked = ask({.config = testing::kQwen122bA10b,
                           .count = 8,
                           .version = "0.19.0",
                           .options = R"({"tensor_parallel_size":8,
                             "speculative_config":{"method":"mtp","num_speculative_tokens":3}})"});
  const Build b = built(asked);
  const Stage& stage = b.stages.front();
  EXPECT_EQ(stage.pool.block_tokens, 544);
  EXPECT_NEAR(stage.pool.state_padding, 0.0264, 0.00005);
}

// Hybrids cache prefixes of themselves from 0.28 on (vllm PR 50991): each of the three groups of
// states then takes two pages of a request. 0.27.1 does not yet: Qwen3.8-27B on two Quadro RTX 6000
// prints 4.62x of 16,384 tokens, 111 pages over 21 and three.
TEST(VllmWorkedExamples, StatesOfARequest) {
  const auto pages = [](std::string_view version, std::string_view options) {
    const Asked asked =
        ask({.config = testing::kQwen122bA10b, .count = 8, .version = version, .options = options});
    return pages_of(built(asked).stages.front().shape, 16384, 2048);
  };
  constexpr std::string_view kOn = R"({"tensor_parallel_size":8,"enable_prefix_caching":true})";
  constexpr std::string_view kDefault = R"({"tensor_parallel_size":8})";
  EXPECT_EQ(pages("0.27.1", kOn) - pages("0.27.1", kDefault), 3);
  EXPECT_EQ(pages("0.28.0", kOn), pages("0.28.0", kDefault));
}

// 286,007 tokens for 1.12 requests of 256,000 of Gemma 4 26B at 0.20.2; blocks of one group before.
TEST(VllmWorkedExamples, PoolFigureByVersion) {
  const auto by_concurrency = [](std::string_view version) {
    return built(ask({.config = kGemma3, .version = version})).profile.figure_by_concurrency;
  };
  EXPECT_FALSE(by_concurrency("0.20.0"));
  EXPECT_TRUE(by_concurrency("0.20.2"));
  EXPECT_TRUE(by_concurrency("0.21.0"));
}

TEST(VllmWorkedExamples, KeyValueHeadsAreCopiedBeyondTheirNumber) {
  const char* options = R"({"tensor_parallel_size":8})";
  const Asked asked = ask({.config = testing::kQwen30bA3b,
                           .count = 8,
                           .total = kH100,
                           .version = "0.22.0",
                           .options = options});
  const Build b = built(asked);
  EXPECT_EQ(b.stages[0].shape.block_bytes.count(), int64_t{16} * 1 * 256 * 2 * 48);
}

// DeepSeek-V4-Flash: pages of 37,440, 8,640 and 1,728 bytes.
// Source of the block sizes: vllm v1/core/kv_cache_utils.py, whose functions were run on this model
// in public (1,039,680 bytes of 0.25.1); of the need: yhfgyyf/vllm-deepseek-v4-sm89#54, 1.34 GiB.
TEST(VllmWorkedExamples, PagesOfDeepSeekV4InOneBlock) {
  const std::string config = testing::deepseek_v4_flash();
  const auto stage = [&](std::string_view version) {
    return built(ask({.config = config,
                      .weights = "fp8",
                      .count = 4,
                      .version = version,
                      .options = R"({"tensor_parallel_size":4,"max_num_batched_tokens":2048,
                                     "max_model_len":131072})"}))
        .stages.front();
  };
  const int64_t tuples = 22 * (37440 + 8640 + 1728);
  EXPECT_EQ(stage("0.22.0").shape.block_bytes.count(), tuples);
  EXPECT_EQ(stage("0.25.1").shape.block_bytes.count(), 37440 * 22 + 8640 * 21 + 1728 * 20);
  EXPECT_EQ(stage("0.27.0").shape.block_bytes.count(), 37440 * 21 + 8640 * 21 + 1728 * 20);
  // 512 pages of the history, 2 x 35 of windows, 515 and 273 of unfinished blocks.
  EXPECT_EQ(pages_of(stage("0.25.1").shape, 131072, 2048), 1370);
  EXPECT_EQ(need_of(stage("0.25.1").shape, 131072, 2048).count(), 1370 * tuples);
  EXPECT_EQ(longest_request_in_blocks(stage("0.25.1").shape, 1370, 1, 200000, 2048), 131072);
  // Two batches in flight, and what the groups share is counted once.
  EXPECT_EQ(need_of(stage("0.27.0").shape, 131072, 2048).count(),
            int64_t{512 + 2 * 67 + 1027 + 529} * (37440 * 21 + 8640 * 21 + 1728 * 20));
}

}  // namespace
}  // namespace vramwise::engines::vllm
