// Worked examples of SGLang's pools: sglang server_args.py, model_executor/pool_configurator.py.
#include <gtest/gtest.h>

#include "engines/sglang/pools.h"
#include "support/questions.h"
#include "support/sglang_plan.h"

namespace vramwise::engines::sglang {
namespace {

TEST(SglangPools, DefaultFractionOfAnH100) {
  const Bytes total = MiB(81559) * 1000 / 1005;  // what CUDA sees where nvidia-smi says 81,559 MiB
  EXPECT_DOUBLE_EQ(planned(testing::ask({.config = testing::kLlama8b, .total = total})).fraction,
                   0.830);
  EXPECT_DOUBLE_EQ(planned(testing::ask({.config = testing::kLlama70b,
                                         .count = 4,
                                         .total = total,
                                         .options = R"({"tp_size":4})"}))
                       .fraction,
                   0.819);
}

// By ranks alone in 0.4.4, by the card in 0.4.9: sglang server_args.py of both.
TEST(SglangPools, DefaultFractionOfEarlierReleases) {
  const Bytes total = MiB(81559) * 1000 / 1005;
  const auto fraction = [&](std::string_view version, int ranks) {
    const std::string options = R"({"tp_size":)" + std::to_string(ranks) + "}";
    return planned(testing::ask({.config = testing::kLlama70b,
                                 .count = ranks,
                                 .total = total,
                                 .version = version,
                                 .options = options}))
        .fraction;
  };
  EXPECT_DOUBLE_EQ(fraction("0.4.4", 1), 0.88);
  EXPECT_DOUBLE_EQ(fraction("0.4.4", 4), 0.85);
  EXPECT_DOUBLE_EQ(fraction("0.4.4", 8), 0.81);
  EXPECT_DOUBLE_EQ(fraction("0.4.9", 4), 0.856);  // (81,559 - 11.5 x 1,024) / 81,559
}

// A DFlash head's pool comes on top of the pools of a target with windows: 46.25 GB were free
// behind 115.36 at a fraction of 0.85, pools of 185,897 x 49,152 B and 148,717 x 147,456 B fill
// that (sostrowsk/dgx-spark-local-llm, sglang-int4.log). An EAGLE head is in the cell.
TEST(SglangPools, DflashBesideWindows) {
  constexpr const char* kWindowed = R"({"model_type":"gemma3_text","hidden_size":1152,
    "intermediate_size":6912,"num_attention_heads":4,"num_key_value_heads":1,"head_dim":256,
    "num_hidden_layers":26,"vocab_size":262144,"sliding_window":512,"sliding_window_pattern":6,
    "max_position_embeddings":32768,"torch_dtype":"bfloat16"})";
  const auto cell = [&](std::string_view method) {
    return planned(testing::ask({.config = kWindowed,
                                 .options = R"({"speculative_draft_model_path":"some/head")" +
                                            std::string(method) + "}"}))
        .cells;
  };
  const Cells none = cell("");
  const Cells dflash = cell(R"(,"speculative_algorithm":"DFLASH")");
  const Cells eagle = cell(R"(,"speculative_algorithm":"EAGLE3")");
  EXPECT_EQ(dflash.full, none.full);
  EXPECT_GT(dflash.real_full, none.real_full);
  EXPECT_GT(eagle.full, none.full);
}

// A drafter and its graphs: 2 GiB, 6 GiB for a model of its own, nothing for look-ups (sglang
// server_args.py of 0.5.9). 512 + 12,288 + 128 + 512 + 464 MiB without.
TEST(SglangPools, DefaultFractionWithADrafter) {
  const auto fraction = [](std::string_view method) {
    const std::string options = R"({"speculative_algorithm":")" + std::string(method) +
                                R"(","speculative_draft_model_path":"some/head"})";
    return planned(testing::ask({.config = testing::kLlama8b,
                                 .total = MiB(81559) * 1000 / 1005,
                                 .options = options}))
        .fraction;
  };
  EXPECT_DOUBLE_EQ(fraction("NGRAM"), 0.830);
  EXPECT_DOUBLE_EQ(fraction("EAGLE3"), 0.804);
  EXPECT_DOUBLE_EQ(fraction("STANDALONE"), 0.754);
}

// sglang mem_cache/memory_pool.py ReqToTokenPool, with the row and the positions that
// _init_pools adds. The last: an L40S had 40.99 GB after loading and 6.01 after the pools of
// 1,287,482 x 28,672 B (lennonYe/6998_project, sglang_radix_server.log).
TEST(SglangPools, RequestTable) {
  const auto table = [](std::string_view options) {
    return planned(testing::ask({.config = testing::kLlama8b, .options = options}))
        .request_table.count();
  };
  EXPECT_EQ(table(R"({"max_running_requests":100,"context_length":1000})"), 101 * 1004 * 4);
  EXPECT_EQ(table(R"({"max_running_requests":100,"context_length":1000,
                      "speculative_algorithm":"EAGLE3","speculative_num_draft_tokens":6})"),
            101 * 1010 * 4);
  // A chain of steps is checked with the token before it.
  EXPECT_EQ(table(R"({"max_running_requests":100,"context_length":1000,
                      "speculative_algorithm":"EAGLE3","speculative_num_steps":2})"),
            101 * 1007 * 4);
  EXPECT_EQ(table(R"({"max_running_requests":16,"context_length":1000,
                      "disaggregation_mode":"decode"})"),
            49 * 1004 * 4);
  const double lost = 40.99 - 1287482.0 * 28672 / double(GiB(1).count()) - 6.01;
  const int64_t logged = table(R"({"max_running_requests":4096,"context_length":32768})");
  EXPECT_NEAR(double(logged) / double(GiB(1).count()), lost, 0.12);
}

// Graphs of a phase that is switched off, or done by another server, are not set aside.
TEST(SglangPools, GraphsByPhase) {
  const auto fraction = [](std::string_view options) {
    return planned(testing::ask({.config = testing::kLlama8b,
                                 .total = MiB(81559) * 1000 / 1005,
                                 .options = options}))
        .fraction;
  };
  // 512 + 12,288 + 128 + 2 a sequence (256) + 8 of 58 prefill sizes, of 81,559 MiB.
  EXPECT_DOUBLE_EQ(fraction("{}"), 0.830);
  EXPECT_DOUBLE_EQ(fraction(R"({"cuda_graph_config":{"decode":{"max_bs":16},
                                "prefill":{"backend":"disabled"}}})"),
                   0.841);
  EXPECT_DOUBLE_EQ(fraction(R"({"disable_prefill_cuda_graph":true})"), 0.835);
  // At least 10 GiB on large cards; 64 sequences of one token take less than 2,048 tokens' worth.
  EXPECT_DOUBLE_EQ(fraction(R"({"disaggregation_mode":"decode","max_running_requests":64})"),
                   0.874);
}

// A second level in host memory: a size of its own, or twice the pool.
TEST(SglangPools, HierarchicalCache) {
  const auto host = [](std::string_view options) {
    return planned(testing::ask({.config = testing::kLlama8b, .options = options}));
  };
  EXPECT_EQ(host("{}").host_cache.count(), 0);
  EXPECT_EQ(host(R"({"enable_hierarchical_cache":true,"hicache_size":30})").host_cache.count(),
            30'000'000'000);
  const RankPlan ratio = host(R"({"enable_hierarchical_cache":true})");
  EXPECT_EQ(ratio.host_cache.count(), 2 * ratio.full_pool.count());
}

TEST(SglangPools, CellsPerToken) {
  EXPECT_EQ(planned(testing::ask({.config = testing::kLlama8b})).cells.full, 131072);
  EXPECT_EQ(planned(testing::ask({.config = testing::kQwen30bA3b})).cells.full, 98304);
  EXPECT_EQ(
      planned(
          testing::ask({.config = testing::kDeepSeekV3, .count = 8, .options = R"({"tp_size":8})"}))
          .cells.full,
      70272);
  const RankPlan gpt = planned(testing::ask({.config = testing::kGptOss20b}));
  EXPECT_EQ(gpt.cells.full, 2048 * 12);
  EXPECT_EQ(gpt.cells.window, 2048 * 12);
  EXPECT_EQ(gpt.window_tokens, int64_t(double(gpt.tokens) * 0.8));
}

// Hundredths of a GiB, as SGLang prints free memory.
Bytes hundredths(int64_t n) { return Bytes(int64_t(double(n) / 100 * double(GiB(1).count()))); }

// The plan where `before` is free before the weights and `after` behind them.
RankPlan with_free(const testing::Asked& asked, int64_t before, int64_t after) {
  Notes notes;
  auto setup = read_setup(asked.question(), notes);
  EXPECT_TRUE(setup) << (setup ? "" : setup.error().message);
  const Device& device = asked.hardware.devices[0];
  const RankPlan first = plan_rank(asked.question(), *setup, device, notes);
  setup->before = ByteRange::exactly(device.free() - hundredths(before));
  setup->leftovers =
      ByteRange::exactly(hundredths(before) - hundredths(after) - first.parts.total());
  return plan_rank(asked.question(), *setup, device, notes);
}

// Free memory and fraction are inputs of each example.
TEST(SglangWorkedExamples, Llama8b) {
  const RankPlan r = with_free(
      testing::ask({.config = testing::kLlama8b, .options = R"({"mem_fraction_static":0.830})"}),
      7840, 6341);
  EXPECT_NEAR(double(r.budget.likely.count()), 53775138029.0, 2);
  EXPECT_EQ(r.tokens, 410271);
}

TEST(SglangWorkedExamples, Llama70bOnFour) {
  const RankPlan r =
      with_free(testing::ask({.config = testing::kLlama70b,
                              .count = 4,
                              .options = R"({"tp_size":4,"mem_fraction_static":0.819})"}),
                7790, 4501);
  EXPECT_NEAR(double(r.budget.likely.count()), 33189467154.0, 2);
  EXPECT_EQ(r.tokens, 405144);
}

TEST(SglangWorkedExamples, Qwen30b) {
  const RankPlan r = with_free(
      testing::ask({.config = testing::kQwen30bA3b, .options = R"({"mem_fraction_static":0.830})"}),
      7840, 2152);
  EXPECT_NEAR(double(r.budget.likely.count()), 8796093022.0, 2);
  EXPECT_EQ(r.tokens, 89478);
}

TEST(SglangWorkedExamples, DeepSeekOnEight) {
  const RankPlan r =
      with_free(testing::ask({.config = testing::kDeepSeekV3,
                              .gpu = "h200-sxm",
                              .count = 8,
                              .options = R"({"tp_size":8,"mem_fraction_static":0.886})"}),
                13800, 5843);
  EXPECT_NEAR(double(r.budget.likely.count()), 45846628401.0, 2);
  EXPECT_EQ(r.tokens, 652416);
}

TEST(SglangWorkedExamples, GptOss20b) {
  const RankPlan r = with_free(
      testing::ask({.config = testing::kGptOss20b, .options = R"({"mem_fraction_static":0.830})"}),
      7840, 6470);
  EXPECT_NEAR(double(r.budget.likely.count()), 55160264982.0, 2);
  EXPECT_EQ(r.tokens, 1246931);
  EXPECT_EQ(r.window_tokens, 997544);
  // More than the budget: a row of padding in each pool.
  EXPECT_EQ((r.full_pool + r.window_pool).count(), 55160266752);
}

TEST(SglangPools, DataParallelAttentionKeepsWholeHeads) {
  const RankPlan r =
      planned(testing::ask({.config = testing::kLlama70b,
                            .count = 8,
                            .options = R"({"tp_size":8,"dp_size":8,"enable_dp_attention":true})"}));
  EXPECT_EQ(r.cells.full, 8 * 256 * 80 * 2);
}

// Linear matrices of Llama-3.1-8B: 32 layers of 4096 x (4096 + 2 x 1024 + 4096 + 3 x 14336).
constexpr int64_t kLlama8bLinear = int64_t{32} * 4096 * (4096 + 2 * 1024 + 4096 + 3 * 14336);

TEST(SglangWeights, QuantisedWhileLoading) {
  const auto weights = [](std::string_view options) {
    return planned(testing::ask({.config = testing::kLlama8b, .options = options})).parts.total();
  };
  const Bytes plain = weights("{}");
  // Two bytes a weight become one; the scales are a few bytes a matrix or a row.
  const Bytes tensor = plain - weights(R"({"quantization":"fp8"})");
  EXPECT_LE(tensor.count(), kLlama8bLinear);
  EXPECT_GE(tensor.count(), kLlama8bLinear - 32 * 7 * 16);
  const Bytes channel = plain - weights(R"({"quantization":"w8a8_fp8"})");
  EXPECT_EQ(channel.count(), kLlama8bLinear - 32 * 4 * (2 * 4096 + 2 * 1024 + 4096 + 2 * 14336));
  EXPECT_LT(weights(R"({"torchao_config":"int4wo-128"})"), plain * 45 / 100);
  // A name of a stored format quantises nothing.
  EXPECT_EQ(weights(R"({"quantization":"awq"})"), plain);
}

TEST(SglangWeights, AdaptersAndHostMemory) {
  const auto plan = [](std::string_view options) {
    return planned(testing::ask({.config = testing::kLlama8b, .options = options}));
  };
  // Slots x rank x (inputs + outputs of the adapted matrices) x 2 bytes; eight slots unless told.
  const int64_t width = int64_t{81920} * 32 * 2;
  const auto adapters = [&](std::string_view options) {
    return plan(options).parts.of(WeightItem::lora).count();
  };
  EXPECT_EQ(adapters(R"({"enable_lora":true,"max_lora_rank":64})"), width * 64 * 8);
  EXPECT_EQ(adapters(R"({"enable_lora":true,"max_lora_rank":8,"max_loras_per_batch":2})"),
            width * 8 * 2);
  EXPECT_EQ(adapters("{}"), 0);
  const Bytes whole = plan("{}").parts.total();
  const RankPlan moved = plan(R"({"cpu_offload_gb":4})");
  EXPECT_EQ(moved.offloaded, GiB(4));
  EXPECT_EQ(moved.parts.total(), whole - GiB(4));
  EXPECT_GT(moved.tokens, plan("{}").tokens);
}

// SGLang's own parser takes a JSON text, no dotted flags.
TEST(SglangEngine, CommandHoldsObjectsWhole) {
  const auto asked = testing::ask(
      {.config = testing::kLlama8b,
       .options =
           R"({"cuda_graph_config":{"decode":{"max_bs":16},"prefill":{"backend":"full"}}})"});
  const std::string command = testing::assess("sglang", asked).command;
  EXPECT_NE(command.find(
                R"(--cuda-graph-config '{"decode":{"max_bs":16},"prefill":{"backend":"full"}}')"),
            std::string::npos)
      << command;
}

TEST(SglangEngine, AsksForALargerFraction) {
  const Assessment a =
      testing::assess("sglang", testing::ask({.config = testing::kLlama8b,
                                              .gpu = "rtx-4090",
                                              .options = R"({"mem_fraction_static":0.5})"}));
  const Requirement* pool = testing::find(a, "kv_cache");
  ASSERT_NE(pool, nullptr);
  EXPECT_GT(pool->needed.low, pool->available.high);
  EXPECT_NE(pool->engine_error.find("Raise --mem-fraction-static above"), std::string::npos);
}

}  // namespace
}  // namespace vramwise::engines::sglang
