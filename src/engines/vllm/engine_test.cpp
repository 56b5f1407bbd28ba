#include "engines/engine.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/text.h"
#include "support/questions.h"

namespace vramwise::engines {
namespace {

using testing::Asked;

bool warned(const Assessment& a, std::string_view id) {
  for (const Note& n : a.notes.warnings) {
    if (n.id == id) return true;
  }
  return false;
}

TEST(VllmEngine, ReserveIsTheShareAndTheContext) {
  const Asked asked = testing::ask({.config = testing::kLlama8b, .version = "0.22.0"});
  const Assessment a = testing::assess("vllm", asked);
  const Bytes total = asked.hardware.devices[0].total;
  const Bytes reserved = a.reserve.total(0).likely;
  // 0.92 of the card and what is gone before vLLM looks; less than a block is left over.
  Bytes context;
  for (const LedgerRow& row : a.reserve.rows) {
    if (row.item == "CUDA context and communication") context = row.bytes.likely;
  }
  const Bytes requested = Bytes(int64_t(double(total.count()) * 0.92));
  EXPECT_LE(reserved, requested + context + Bytes(1));
  EXPECT_GE(reserved, requested + context - MiB(3));
  EXPECT_EQ(a.primary, Reading::reserve);
}

TEST(VllmEngine, RefusesALengthThatTheCacheCannotHold) {
  const Asked asked = testing::ask({.config = testing::kLlama8b,
                                    .gpu = "rtx-4090",
                                    .version = "0.22.0",
                                    .options = R"({"max_model_len":131072,"max_num_seqs":32})"});
  const Assessment a = testing::assess("vllm", asked);
  const Requirement* cache = testing::find(a, "kv_cache");
  ASSERT_NE(cache, nullptr);
  EXPECT_EQ(cache->kind, Requirement::Kind::engine_refuses);
  EXPECT_EQ(cache->needed.likely, GiB(16));
  EXPECT_LT(cache->available.high, GiB(16));
  EXPECT_NE(cache->engine_error.find("16.00 GiB KV cache is needed"), std::string::npos);
  EXPECT_NE(cache->engine_error.find("the estimated maximum model length is"), std::string::npos);
}

// Decided inside the bar: the message that it would print has the numbers of a refusal.
TEST(VllmEngine, WhatATightStartWouldPrintIsARefusal) {
  const auto cache_at = [](int64_t length) {
    const Asked asked = testing::ask(
        {.config = testing::kLlama8b,
         .gpu = "rtx-4090",
         .version = "0.22.0",
         .options = R"({"max_num_seqs":32,"max_model_len":)" + std::to_string(length) + "}"});
    return *testing::find(testing::assess("vllm", asked), "kv_cache");
  };
  // Half way between the two ends of the bar, in tokens.
  const Requirement any = cache_at(8192);
  const Bytes middle = (any.available.low + any.available.likely) / 2;
  const auto length = int64_t(double(middle.count()) / (131072.0 * 16)) * 16;
  const Requirement tight = cache_at(length);
  ASSERT_LT(tight.available.low, tight.needed.likely);
  ASSERT_GT(tight.available.likely, tight.needed.likely);
  const std::string low = format_fixed(double(tight.available.low.count()) / double(1 << 30), 2);
  EXPECT_NE(tight.engine_error.find("available KV cache memory (" + low + " GiB)"),
            std::string::npos)
      << tight.engine_error;
}

TEST(VllmEngine, AdapterOptionsWithoutAdaptersAreWarnedOf) {
  const auto off = [](std::string_view options) {
    const Asked asked = testing::ask({.config = testing::kLlama8b, .options = options});
    return warned(testing::assess("vllm", asked), "adapters_off");
  };
  EXPECT_TRUE(off(R"({"max_loras":4})"));
  EXPECT_TRUE(off(R"({"max_lora_rank":64})"));
  EXPECT_FALSE(off(R"({"max_loras":4,"enable_lora":true})"));
  EXPECT_FALSE(off("{}"));
}

TEST(VllmEngine, RefusesWhenAnotherProcessHoldsTheCard) {
  Asked asked = testing::ask({.config = testing::kLlama8b, .version = "0.22.0"});
  asked.hardware.devices[0].used = GiB(30);
  const Assessment a = testing::assess("vllm", asked);
  const Requirement& first = a.requirements.front();
  EXPECT_EQ(first.what, "utilisation");
  EXPECT_GT(first.needed.low, first.available.high);
  EXPECT_NE(first.engine_error.find("less than desired GPU memory utilization"), std::string::npos);
}

bool estimates_graphs(const testing::Ask& what, std::string_view runner = {}) {
  Asked asked = testing::ask(what);
  if (!runner.empty()) asked.settings.env["VLLM_USE_V2_MODEL_RUNNER"] = std::string(runner);
  const Assessment a = testing::assess("vllm", asked);
  return std::any_of(a.log.begin(), a.log.end(), [](const LogLine& line) {
    return line.line == "Estimated CUDA graph memory";
  });
}

// Model runner 2 makes no estimate of the graphs until 0.29: it came model by model. Sources: vllm
// PR 39337, 43458, 44446 and 44443; PR 53183 (all models), release notes of 0.29.0 (the estimate).
TEST(VllmEngine, TheSecondRunnerCameModelByModel) {
  EXPECT_TRUE(estimates_graphs({.config = testing::kLlama8b, .version = "0.22.0"}));
  EXPECT_FALSE(estimates_graphs({.config = testing::kLlama8b, .version = "0.23.0"}));
  EXPECT_TRUE(
      estimates_graphs({.config = testing::kLlama8b, .weights = "fp8", .version = "0.23.0"}));
  EXPECT_FALSE(
      estimates_graphs({.config = testing::kLlama8b, .weights = "fp8", .version = "0.24.0"}));
  EXPECT_TRUE(estimates_graphs({.config = testing::kQwen30bA3b, .version = "0.25.0"}));
  EXPECT_TRUE(estimates_graphs({.config = testing::kLlama8b, .version = "0.25.0"}, "0"));
  EXPECT_TRUE(estimates_graphs({.config = testing::kLlama8b, .version = "0.29.0"}));
}

Bytes row_of(const Assessment& a, std::string_view item) {
  Bytes sum;
  for (const LedgerRow& row : a.reserve.rows) {
    if (row.device == a.fullest_device && row.item == item) sum += row.bytes.likely;
  }
  return sum;
}

// What is fixed by the card has no bar; the other rows' bars add up to the peak's, so that the sum
// over the ledger is the part's own range.
TEST(VllmEngine, OnlyWhatIsUncertainHasABar) {
  const Assessment a = testing::assess(
      "vllm", testing::ask({.config = testing::kLlama8b, .gpu = "l40s", .version = "0.28.0"}));
  ByteRange others;
  int fixed = 0;
  for (const LedgerRow& row : a.reserve.rows) {
    if (row.component != Component::activations) continue;
    if (row.item == "cuBLAS workspace") {
      EXPECT_TRUE(row.bytes.is_exact());
      ++fixed;
    } else {
      others = others + row.bytes;
    }
  }
  EXPECT_EQ(fixed, 1);
  // A restart compiles nothing: one layer's pass, 10 % of which is its bar, takes its place.
  EXPECT_EQ(others.likely, others.high);
  EXPECT_LT(others.low * 4, others.likely);
}

// Weights that are quantised lie in sleep mode's pool in one form while they load and in another
// afterwards; what is given back between vLLM counts twice. Source: vllm
// device_allocator/cumem.py; 8.28 GiB of weights and a cache of 11.13 under a share of 17.65
// (Grigoriy-V/local-multimodal-agent reports/2026-08-30_v2_context_memory_plan.md).
TEST(VllmEngine, SleepModeMayPassItsShare) {
  const auto start = [](std::string_view weights, std::string_view options) {
    return testing::assess("vllm", testing::ask({.config = testing::kLlama8b,
                                                 .weights = weights,
                                                 .gpu = "a10",
                                                 .version = "0.26.0",
                                                 .options = options}));
  };
  const auto cache_high = [](const Assessment& a) {
    for (const Requirement& r : a.requirements)
      if (r.what == "kv_cache" && r.phase == "sizing") return r.available.high;
    return Bytes();
  };
  const auto check = [](const Assessment& a) -> const Requirement* {
    for (const Requirement& r : a.requirements)
      if (r.what == "sleep_mode") return &r;
    return nullptr;
  };
  const Assessment awake = start("w4a16", R"({"max_model_len":8192})");
  const Assessment asleep = start("w4a16", R"({"max_model_len":8192,"enable_sleep_mode":true})");
  ASSERT_NE(check(asleep), nullptr);
  EXPECT_EQ(check(awake), nullptr);
  const Bytes released = check(asleep)->needed.high;
  EXPECT_EQ(cache_high(asleep), cache_high(awake) + released);
  // 92 % of the card are asked for: the rest holds less than half of the weights.
  EXPECT_LT(check(asleep)->available.low, released);
  EXPECT_GE(check(start("w4a16", R"({"max_model_len":8192,"enable_sleep_mode":true,
                                     "gpu_memory_utilization":0.7})"))
                ->available.low,
            released);
  // Weights in 16 bits stay where they were put.
  EXPECT_EQ(check(start("bf16", R"({"max_model_len":2048,"enable_sleep_mode":true})")), nullptr);
}

// Which runner serves a model shows in the counters that runner 2 keeps for every sequence and
// vocabulary entry: 256 x (4 x 151,936 + 4 x 4,748). Source: vllm
// v1/worker/gpu/sample/penalties.py.
TEST(VllmEngine, TheSecondRunnerKeepsCounters) {
  const auto counters = [](std::string_view version, std::string_view options = {}) {
    return row_of(testing::assess("vllm", testing::ask({.config = testing::kQwen30bA3b,
                                                        .gpu = "l40s",
                                                        .version = version,
                                                        .options = options})),
                  "sampler counters");
  };
  EXPECT_EQ(counters("0.28.0"), Bytes());
  EXPECT_EQ(counters("0.29.0"), Bytes(256 * (4 * 151936 + 4 * 4748)));
  EXPECT_EQ(counters("0.29.0", R"({"max_num_seqs":16})"), Bytes(16 * (4 * 151936 + 4 * 4748)));
  // What runner 2 does not do falls back.
  EXPECT_EQ(counters("0.29.0", R"({"enable_dbo":true})"), Bytes());
  EXPECT_EQ(
      counters("0.29.0", R"({"speculative_config":{"method":"ngram","num_speculative_tokens":4}})"),
      Bytes());
}

// The first start compiles inside of the profile run. Llama-3.1-8B: 128,256 x 4,096 x 2 bytes, of
// which each of two ranks has half; nothing where nothing is compiled, or all of it was before.
// Source: vllm issue 54122.
TEST(VllmEngine, TheFirstStartCompiles) {
  const auto copy = [](int count, std::string_view options, std::string_view env = {},
                       std::string_view version = "0.28.0") {
    Asked asked = testing::ask({.config = testing::kLlama8b,
                                .gpu = "l40s",
                                .count = count,
                                .version = version,
                                .options = options});
    if (!env.empty()) asked.settings.env[std::string(env)] = "1";
    return row_of(testing::assess("vllm", asked), "first compilation");
  };
  const Bytes table(128256 * 4096 * 2);
  EXPECT_EQ(copy(1, "{}"), table);
  EXPECT_EQ(copy(2, R"({"tensor_parallel_size":2})"), Bytes(table.count() / 2));
  EXPECT_EQ(copy(1, R"({"enforce_eager":true})"), Bytes());
  EXPECT_EQ(copy(1, "{}", "VLLM_FORCE_AOT_LOAD"), Bytes());
  EXPECT_EQ(copy(1, "{}", {}, "0.21.0"), Bytes());
  // 1,024 sequences' logits were more than it before; the upper end of the cache is a restart's.
  const Asked asked =
      testing::ask({.config = testing::kLlama8b, .gpu = "l40s", .version = "0.28.0"});
  Asked again = asked;
  again.settings.env["VLLM_FORCE_AOT_LOAD"] = "1";
  const Assessment first = testing::assess("vllm", asked);
  const Assessment restart = testing::assess("vllm", again);
  EXPECT_GE(first.kv.available.high, restart.kv.available.likely);
  EXPECT_GT(restart.kv.available.likely, first.kv.available.likely);
  // Said, with the difference: 0.979 less a layer over 2,048 tokens, 4,096 x (3 x 4,096 + 3 x
  // 14,336).
  const auto& said = first.notes.assumptions;
  ASSERT_TRUE(std::any_of(said.begin(), said.end(), [](const Note& n) {
    return n.id == "first_start" && n.text.find(" has 0.77 GiB more for it") != std::string::npos;
  }));
}

// Compilation is charged where it happens, with graphs or without, and said where it can change.
TEST(VllmEngine, FirstCompileFollowsCompilationNotGraphs) {
  const auto start = [](std::string_view options, std::string_view env = {}) {
    Asked asked = testing::ask(
        {.config = testing::kLlama8b, .gpu = "l40s", .version = "0.28.0", .options = options});
    if (!env.empty()) asked.settings.env[std::string(env)] = "1";
    return testing::assess("vllm", asked);
  };
  const auto charged = [&](std::string_view options) {
    return row_of(start(options), "first compilation").count() > 0;
  };
  EXPECT_TRUE(charged(R"({"compilation_config":{"cudagraph_mode":"NONE"}})"));
  EXPECT_TRUE(charged(R"({"optimization_level":1})"));
  EXPECT_FALSE(charged(R"({"optimization_level":0})"));
  EXPECT_FALSE(charged(R"({"compilation_config":{"mode":"NONE"}})"));
  EXPECT_FALSE(charged(R"({"compilation_config":{"mode":0}})"));
  EXPECT_FALSE(charged(R"({"compilation_config":{"backend":"eager"}})"));

  const auto says = [](const std::vector<Note>& notes) {
    return std::any_of(notes.begin(), notes.end(),
                       [](const Note& n) { return n.id == "first_start"; });
  };
  EXPECT_TRUE(says(start("{}").notes.assumptions));
  EXPECT_TRUE(says(start("{}", "VLLM_FORCE_AOT_LOAD").notes.warnings));
  EXPECT_FALSE(says(start("{}", "VLLM_DISABLE_COMPILE_CACHE").notes.assumptions));
  EXPECT_FALSE(says(start(R"({"kv_cache_memory_bytes":2147483648})").notes.assumptions));
}

// Graphs of pieces need the pieces; whole ones do not. Source: vllm config/vllm.py.
TEST(VllmEngine, GraphsFollowTheCompilationMode) {
  const auto graphs = [](std::string_view options, std::string_view version = "0.28.0") {
    const Assessment a = testing::assess(
        "vllm",
        testing::ask(
            {.config = testing::kLlama8b, .gpu = "l40s", .version = version, .options = options}));
    Bytes sum;
    for (const LedgerRow& row : a.need.rows) {
      if (row.device == 0 && row.item == "CUDA graphs") sum += row.bytes.likely;
    }
    return sum;
  };
  const Bytes both = graphs("{}");
  EXPECT_GT(both, Bytes());
  EXPECT_EQ(graphs(R"({"optimization_level":2})"), both);
  EXPECT_EQ(graphs(R"({"optimization_level":0})"), Bytes());
  EXPECT_EQ(graphs(R"({"compilation_config":{"mode":2}})"), Bytes());
  EXPECT_EQ(graphs(R"({"optimization_level":2})", "0.10.0"), Bytes());
  const Bytes pieces = graphs(R"({"compilation_config":{"cudagraph_mode":"PIECEWISE"}})");
  EXPECT_LT(pieces, both);
  EXPECT_EQ(graphs(R"({"optimization_level":1})"), pieces);
  EXPECT_GT(graphs(R"({"compilation_config":{"mode":0,"cudagraph_mode":"FULL_DECODE_ONLY"}})"),
            Bytes());
}

// Keys and values of layers that read another layer's cache are there until 0.29: the last of four
// layers here, 2 x 1 head x 256 x 512 wide and a norm of 256. Source: vllm PR 54917.
TEST(VllmEngine, LayersThatShareACacheKeepProjectionsUntil030) {
  constexpr std::string_view kGemma3n =
      R"({"architectures":["Gemma3nForCausalLM"],"model_type":"gemma3n_text","hidden_size":512,
          "intermediate_size":1024,"num_hidden_layers":4,"num_attention_heads":2,
          "num_key_value_heads":1,"head_dim":256,"vocab_size":1024,"num_kv_shared_layers":1,
          "vocab_size_per_layer_input":1024,"hidden_size_per_layer_input":64,
          "altup_num_inputs":2,"laurel_rank":16,"sliding_window":512,
          "layer_types":["full_attention","sliding_attention","full_attention",
                         "full_attention"]})";
  const auto attention = [&](std::string_view version) {
    return row_of(
        testing::assess("vllm",
                        testing::ask({.config = kGemma3n, .gpu = "l40s", .version = version})),
        "attention");
  };
  // Four layers of q, k, v and o: (2 + 1 + 1 + 2) x 256 x 512 values.
  EXPECT_EQ(attention("0.29.0"), Bytes(4 * 6 * 256 * 512 * 2));
  EXPECT_EQ(attention("0.30.0"), Bytes((4 * 6 - 2) * 256 * 512 * 2));
}

TEST(VllmEngine, HeadsMustDivide) {
  const Asked asked = testing::ask(
      {.config = testing::kLlama8b, .count = 3, .options = R"({"tensor_parallel_size":3})"});
  const Assessment a = testing::assess("vllm", asked);
  ASSERT_FALSE(a.refusals.empty());
  EXPECT_EQ(a.refusals[0].engine_error,
            "Total number of attention heads (32) must be divisible by tensor parallel size (3).");
}

// Every replica has a pool and a scheduler of its own: users add up, and each holds its part.
TEST(VllmEngine, ReplicasAddUp) {
  Asked one = testing::ask({.config = testing::kLlama8b});
  one.workload = {Tokens(8192), Sequences(20)};
  Asked four = testing::ask(
      {.config = testing::kLlama8b, .count = 4, .options = R"({"data_parallel_size":4})"});
  four.workload = {Tokens(8192), Sequences(80)};
  const Assessment a = testing::assess("vllm", one), b = testing::assess("vllm", four);
  EXPECT_EQ(b.users, 4 * a.users);
  EXPECT_EQ(b.need.total(0, Component::kv_cache).likely,
            a.need.total(0, Component::kv_cache).likely);
  EXPECT_EQ(b.need.total(3, Component::weights).likely, a.need.total(0, Component::weights).likely);
}

TEST(VllmEngine, DevicesWithoutAnOptionAreSplitOver) {
  const Asked asked = testing::ask({.config = testing::kLlama8b, .count = 4});
  const Assessment a = testing::assess("vllm", asked);
  EXPECT_NE(a.command.find("--tensor-parallel-size 4"), std::string::npos);
  EXPECT_TRUE(a.refusals.empty());
  // Three do not divide 32 heads: two are used.
  const Asked three = testing::ask({.config = testing::kLlama8b, .count = 3});
  EXPECT_NE(testing::assess("vllm", three).command.find("--tensor-parallel-size 2"),
            std::string::npos);
}

TEST(VllmEngine, WorkloadSetsTheLength) {
  Asked asked = testing::ask({.config = testing::kLlama8b, .version = "0.22.0"});
  asked.workload.sequence_tokens = Tokens(32768);
  asked.workload.concurrency = Sequences(8);
  const Assessment a = testing::assess("vllm", asked);
  EXPECT_NE(a.command.find("--max-model-len 32768"), std::string::npos);
  EXPECT_GE(a.users, 8);
  EXPECT_GE(a.longest_sequence, 32768);
  const Requirement& last = a.requirements.back();
  EXPECT_EQ(last.kind, Requirement::Kind::workload);
  EXPECT_EQ(last.needed.likely, GiB(4) * 8);
}

TEST(VllmEngine, UnknownOptionsAreWarnedOf) {
  const Asked asked =
      testing::ask({.config = testing::kLlama8b, .options = R"({"max_modle_len":4096})"});
  const Assessment a = testing::assess("vllm", asked);
  EXPECT_TRUE(warned(a, "unknown_option"));
}

TEST(VllmEngine, ImpossibleValuesAreErrors) {
  const auto engine = find_engine("vllm");
  ASSERT_TRUE(engine);
  for (const char* options : {R"({"gpu_memory_utilization":1.5})", R"({"max_model_len":0})",
                              R"({"tensor_parallel_size":0})", R"({"max_num_seqs":"many"})"}) {
    const Asked asked = testing::ask({.config = testing::kLlama8b, .options = options});
    const auto a = (*engine)->assess(asked.question());
    ASSERT_FALSE(a) << options;
    EXPECT_EQ(a.error().code, ErrorCode::invalid_input);
    EXPECT_NE(a.error().where.source.find("engine.options."), std::string::npos);
  }
}

TEST(VllmEngine, FitsTheLengthItself) {
  const Asked asked = testing::ask({.config = testing::kLlama8b,
                                    .gpu = "rtx-4090",
                                    .version = "0.22.0",
                                    .options = R"({"max_model_len":-1,"max_num_seqs":32})"});
  const Assessment a = testing::assess("vllm", asked);
  const json::Value* length = a.effective.find("max_model_len");
  ASSERT_NE(length, nullptr);
  EXPECT_GT(length->as_integer(), 1024);
  EXPECT_LT(length->as_integer(), 131072);
  EXPECT_GE(a.kv.max_concurrency, 1.0);
}

TEST(VllmEngine, LongerRequestsNeverNeedLess) {
  Bytes before;
  for (int64_t length = 256; length <= 131072; length *= 2) {
    const std::string options = "{\"max_model_len\":" + std::to_string(length) + "}";
    const Asked asked = testing::ask({.config = testing::kGemma27b, .options = options});
    const Assessment a = testing::assess("vllm", asked);
    const Requirement* cache = testing::find(a, "kv_cache");
    ASSERT_NE(cache, nullptr);
    EXPECT_GE(cache->needed.likely, before);
    before = cache->needed.likely;
  }
}

TEST(VllmEngine, EagerRunsCaptureNothing) {
  const Asked graphs = testing::ask({.config = testing::kQwen30bA3b, .version = "0.24.0"});
  const Asked eager = testing::ask({.config = testing::kQwen30bA3b,
                                    .version = "0.24.0",
                                    .options = R"({"enforce_eager":true})"});
  const Assessment with = testing::assess("vllm", graphs), without = testing::assess("vllm", eager);
  EXPECT_EQ(testing::find(without, "cuda_graphs"), nullptr);
  EXPECT_NE(testing::find(with, "cuda_graphs"), nullptr);
  EXPECT_GT(without.kv.available.likely, with.kv.available.likely);
}

TEST(VllmEngine, PipelineStagesShareTheLayers) {
  const Asked asked =
      testing::ask({.config = testing::kLlama70b,
                    .count = 4,
                    .version = "0.22.0",
                    .options = R"({"tensor_parallel_size":2,"pipeline_parallel_size":2})"});
  const Assessment a = testing::assess("vllm", asked);
  // Embedding on the first stage, head on the last, 40 layers each: about the same.
  const Bytes first = a.reserve.total(0, Component::weights).likely;
  const Bytes last = a.reserve.total(3, Component::weights).likely;
  EXPECT_LT(first - last, MiB(64));
  EXPECT_EQ(a.reserve.total(0, Component::kv_cache).likely,
            a.reserve.total(3, Component::kv_cache).likely);
}

// Limits by who starts the engine: vllm engine/arg_utils.py, usage contexts.
TEST(VllmEngine, BatchLimitsFollowTheProgram) {
  const auto tokens = [](std::string_view options) {
    const Asked asked = testing::ask(
        {.config = testing::kLlama8b, .version = "0.22.0", .options = std::string(options)});
    return testing::assess("vllm", asked);
  };
  const Assessment server = tokens("{}");
  const Assessment offline = tokens(R"({"program":"LLM"})");
  const Assessment embedded = tokens(R"({"program":"AsyncEngineArgs"})");
  EXPECT_EQ(server.effective.find("max_num_batched_tokens")->as_integer(), 8192);
  EXPECT_EQ(offline.effective.find("max_num_batched_tokens")->as_integer(), 16384);
  EXPECT_EQ(embedded.effective.find("max_num_batched_tokens")->as_integer(), 2048);
  EXPECT_EQ(embedded.effective.find("max_num_seqs")->as_integer(), 128);
  // The command starts a server, so it names what the program would have taken by itself.
  EXPECT_NE(offline.command.find("--max-num-batched-tokens 16384"), std::string::npos);
  EXPECT_EQ(server.command.find("--max-num-batched-tokens"), std::string::npos);
  EXPECT_EQ(offline.command.find("program"), std::string::npos);
}

TEST(VllmEngine, OffloadedWeightsLeaveTheCard) {
  const Asked asked =
      testing::ask({.config = testing::kLlama8b, .options = R"({"cpu_offload_gb":4})"});
  const Assessment a = testing::assess("vllm", asked);
  EXPECT_EQ(a.reserve.total(kHost).likely, GiB(4));
}

}  // namespace
}  // namespace vramwise::engines
