#include "verify/log_reader.h"
#include "base/text.h"

#include <gtest/gtest.h>

namespace vramwise::verify {
namespace {

constexpr double kG = 1073741824;

double value(const Log& log, std::string_view field) {
  const Reading* r = log.one(field);
  return r == nullptr ? -999 : r->last;
}

TEST(LogReader, PrefixesOfEveryKind) {
  // The same record as containers, loggers and copying change it.
  const std::string_view lines[] = {
      "INFO 10-23 11:23:22 [gpu_worker.py:298] Available KV cache memory: 51.38 GiB",
      "vllm-1  | INFO 10-23 11:23:22 [gpu_worker.py:298] Available KV cache memory: 51.38 GiB",
      "2026-05-01 21:58:31.243 | INFO Available KV cache memory: 51.38 GiB",
      "Aug 18 14:14:59 host python3[28148]: INFO Available KV cache memory: 51.38 GiB",
      "2023-12-11T17:25:22.531+02:00 | [WARN ] PyProcess - W-1511-model-stderr: INFO Available KV "
      "cache memory: 51.38 GiB",
      "{\"log\":\"\\u001b[1;36m(EngineCore_0 pid=9)\\u001b[0;0m INFO Available KV cache memory: "
      "51.38 GiB\\n\",\"stream\":\"stderr\",\"time\":\"2025-01-01T00:00:00Z\"}",
      "\x1b[1;36m(EngineCore_0 pid=9)\x1b[0;0m INFO Available KV cache memory: 51.38 GiB",
      "[1;36m(EngineCore_0 pid=9)[0;0m INFO Available KV cache memory: 51.38 GiB",
      "> > INFO Available KV cache memory: 51.38 GiB",
      "<td>INFO Available KV cache memory: 51.38 GiB</td>",
      "Loading shards: 100%|####| 4/4\rINFO Available KV cache memory: 51.38 GiB\r\n",
      "Capturing (bs=1 avail_mem=11.47 GB): 100%|#|INFO Available KV cache memory: 51.38 GiB",
  };
  for (const std::string_view line : lines) {
    const Log log = read_log(line);
    EXPECT_NEAR(value(log, "available"), 51.38 * kG, 1) << line;
    EXPECT_EQ(log.config.engine, "vllm") << line;
  }
}

TEST(LogReader, RanksAreKeptApart) {
  const Log log = read_log(
      "(Worker_TP0 pid=1) INFO [gpu_worker.py:298] Available KV cache memory: 5.38 GiB\n"
      "(Worker_TP1 pid=2) INFO [gpu_worker.py:298] Available KV cache memory: 5.30 GiB\n"
      "(VllmWorker rank=3 pid=7) INFO Available KV cache memory: 5.44 GiB\n"
      "(EngineCore_DP0 pid=1) (RayWorkerWrapper pid=77, ip=10.0.0.1) INFO Available KV cache "
      "memory: 5.45 GiB [repeated 7x across cluster]\n"
      "(Worker_DP2_TP0_EP4 pid=5) INFO Available KV cache memory: 5.46 GiB\n"
      "(VllmWorkerProcess pid=4711) INFO Available KV cache memory: 5.47 GiB\n");
  std::vector<std::string> ranks;
  for (const Reading* r : log.all("available")) ranks.push_back(r->rank);
  EXPECT_EQ(ranks,
            (std::vector<std::string>{"TP0", "TP1", "rank3", "DP0", "DP2 TP0 EP4", "pid 4711"}));
  EXPECT_NEAR(value(log, "available"), 5.30 * kG, 1);
}

TEST(LogReader, AnyCutGivesTheSame) {
  const std::string text =
      "INFO 01-02 [a.py:1] Model loading took 14.9889 GiB and 3.21 seconds\n"
      "noise noise noise\r\n"
      "INFO 01-02 [a.py:1] the current vLLM instance can use total_gpu_memory (23.58GiB) x "
      "gpu_memory_utilization (0.90) = 21.22GiB\n"
      "model weights take 14.99GiB; non_torch_memory takes 0.35GiB; PyTorch activation peak memory "
      "takes 2.07GiB; the rest of the memory reserved for KV Cache is 3.81GiB.\n"
      "# cuda blocks: 1952, # CPU blocks: 2048";
  const Log whole = read_log(text);
  EXPECT_EQ(whole.readings.size(), 11u);
  for (size_t piece : {size_t{1}, size_t{3}, size_t{7}, size_t{64}}) {
    LogReader reader;
    for (size_t at = 0; at < text.size(); at += piece) {
      reader.feed(std::string_view(text).substr(at, piece));
    }
    reader.finish();
    const Log& log = reader.log();
    ASSERT_EQ(log.readings.size(), whole.readings.size()) << piece;
    for (size_t i = 0; i < log.readings.size(); ++i) {
      EXPECT_EQ(log.readings[i].field, whole.readings[i].field);
      EXPECT_EQ(log.readings[i].last, whole.readings[i].last);
      EXPECT_EQ(log.readings[i].line, whole.readings[i].line);
    }
  }
}

TEST(LogReader, WrappedMessagesAreJoined) {
  const Log log = read_log(
      "ERROR 11-02 10:00:00 [core.py:708] ValueError: To serve at least one request with the "
      "models's max seq\n"
      "ERROR 11-02 10:00:00 [core.py:708] len (40960), (5.00 GiB KV cache is needed, which is "
      "larger than the\n"
      "> available KV cache memory (4.12 GiB). Based on the available memory, the estimated "
      "maximum\n"
      "model length is 33744. Try increasing `gpu_memory_utilization`\n"
      "# GPU blocks: 7, # CPU blocks: 8\n");
  ASSERT_EQ(log.failures.size(), 1u);
  EXPECT_EQ(log.failures[0].id, "cache_too_small");
  EXPECT_NEAR(log.failures[0].number("needed"), 5 * kG, 1);
  EXPECT_NEAR(log.failures[0].number("available_refused"), 4.12 * kG, 1);
  EXPECT_EQ(value(log, "blocks"), 7);
}

TEST(LogReader, LongLinesAndRubbishAreReadOver) {
  LogReader reader;
  for (int i = 0; i < 64; ++i) reader.feed(std::string(1 << 16, 'x'));  // 4 MiB without a break
  reader.feed(std::string(1000, '\0'));
  reader.feed("\n# GPU blocks: 7, # CPU blocks: 8\n");
  reader.finish();
  EXPECT_EQ(value(reader.log(), "blocks"), 7);
  EXPECT_EQ(reader.log().lines, 2);
}

TEST(LogReader, SumsAreTakenApart) {
  // Since 0.24: weights and what is outside of torch as one, the graph estimate in the activations.
  const Log log = read_log(
      "INFO [a.py:1] Model loading took 51.1 GiB memory and 9.1 seconds\n"
      "INFO [a.py:1] Estimated CUDA graph memory: 1.55 GiB total\n"
      "INFO [a.py:1] Free memory on device (79.50/80.00 GiB) on startup. Desired GPU memory "
      "utilization "
      "is (0.92, 73.60 GiB). Actual usage is 51.66 GiB for consumed memory (weights + non-torch), "
      "2.40 "
      "GiB for peak activation, and 0.71 GiB for CUDAGraph memory.\n");
  EXPECT_NEAR(value(log, "non_torch"), 0.56 * kG, 1);
  EXPECT_NEAR(value(log, "activation"), 0.85 * kG, 1);
  EXPECT_NEAR(value(log, "activation_with_graphs"), 2.40 * kG, 1);
}

TEST(LogReader, SumsStayWholeWhereAPartIsNotPrinted) {
  const Log log = read_log(
      "INFO [a.py:1] Free memory on device (79.50/80.00 GiB) on startup. Desired GPU memory "
      "utilization "
      "is (0.92, 73.60 GiB). Actual usage is 51.66 GiB for consumed memory (weights + non-torch), "
      "2.40 "
      "GiB for peak activation, and 0.71 GiB for CUDAGraph memory.\n");
  EXPECT_EQ(log.one("non_torch"), nullptr);
  EXPECT_NEAR(value(log, "activation"), 2.40 * kG, 1);
}

// What a drafter prints again is its own, and the window layers' pool comes before the other:
// sostrowsk/dgx-spark-local-llm, sglang-int4.log (lines shortened).
TEST(LogReader, SglangDrafterAndWindowPools) {
  const Log log = read_log(
      "server_args=ServerArgs(model_path='poolside/Laguna-S-2.1-INT4', mem_fraction_static=0.85, "
      "speculative_algorithm='DFLASH', "
      "speculative_draft_model_path='poolside/Laguna-S-2.1-DFlash-INT4')\n"
      "Load weight begin. avail mem=115.36 GB\n"
      "Load weight end. elapsed=109.33 s, type=LagunaForCausalLM, avail mem=47.80 GB, mem "
      "usage=67.56 GB.\n"
      "Load weight begin. avail mem=47.83 GB\n"
      "Load weight end. elapsed=12.25 s, type=DFlashLagunaForCausalLM, avail mem=46.25 GB, mem "
      "usage=1.58 GB.\n"
      "Use sliding window memory pool. full_layer_tokens=185897, swa_layer_tokens=148717\n"
      "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 148717, K size: 10.21 GB, V size: "
      "10.21 GB\n"
      "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 185897, K size: 4.25 GB, V size: "
      "4.25 GB\n"
      "Memory pool end. avail mem=17.73 GB\n"
      "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 185897, K size: 2.13 GB, V size: "
      "2.13 GB\n"
      "Memory pool end. avail mem=13.35 GB\n");
  EXPECT_NEAR(value(log, "weights"), 67.56 * kG, 1);
  EXPECT_NEAR(value(log, "drafter_weights"), 1.58 * kG, 1);
  EXPECT_NEAR(value(log, "before_loading"), 115.36 * kG, 1);
  EXPECT_NEAR(value(log, "after_loading"), 46.25 * kG, 1);
  EXPECT_EQ(value(log, "window_pool_tokens"), 148717);
  EXPECT_EQ(value(log, "pool_tokens"), 185897);
  EXPECT_NEAR(value(log, "k_memory"), 4.25 * kG, 1);
  EXPECT_NEAR(value(log, "drafter_k_memory"), 2.13 * kG, 1);
  EXPECT_NEAR(value(log, "after_pool"), 13.35 * kG, 1);
}

TEST(LogReader, RecordsFoldedByANarrowWindow) {
  const Log log = read_log(
      "> INFO 05-17 10:11:12 [gpu_model_runner.py:1234] Model loading took 67.7200 GiB\n"
      "> memory and 12.345678 seconds\n"
      "> llama_kv_cache: size = 512.00 MiB ( 4096\n"
      "> cells,  32 layers,  1/1 seqs), K (f16): 256.00 MiB, V (f16): 256.00 MiB\n");
  EXPECT_NEAR(value(log, "weights"), 67.72 * kG, 1);
  EXPECT_EQ(value(log, "kv_cells"), 4096);
  // What follows is a record of its own, not the rest of one.
  const Log apart = read_log(
      "INFO [a.py:1] Available KV cache memory:\n"
      "INFO [a.py:1] GPU KV cache size: 1,024 tokens\n");
  EXPECT_EQ(apart.one("available"), nullptr);
  EXPECT_EQ(value(apart, "pool_tokens"), 1024);
}

TEST(LogReader, OllamaInsideOfJson) {
  const Log log = read_log(
      "{\"log\": \"time=2025-05-17T10:11:12Z level=INFO msg=\\\"offload to cuda\\\" "
      "layers.model=49 "
      "layers.offload=37 memory.required.full=\\\"14.9 GiB\\\" memory.graph.full=\\\"1.3 "
      "GiB\\\"\\n\", "
      "\"stream\": \"stderr\"}\n"
      "{\"log\":\"level=INFO msg=\\\"kv cache\\\" device=CUDA0 size=\\\"1.9 "
      "GiB\\\"\\n\",\"stream\":\"stderr\"}\n");
  EXPECT_EQ(log.config.engine, "ollama");
  EXPECT_NEAR(value(log, "estimate_full"), 14.9 * kG, 1);
  EXPECT_NEAR(value(log, "estimate_graph"), 1.3 * kG, 1);
  EXPECT_NEAR(value(log, "kv_buffer"), 1.9 * kG, 1);
  EXPECT_EQ(value(log, "layers_offloaded"), 37);
}

TEST(LogReader, DecoysSayNothing) {
  const Log log = read_log(
      "INFO Engine 000: Avg prompt throughput: 1 tokens/s, GPU KV cache usage: 93.1%, Prefix cache "
      "hit rate: 0.0%\n"
      "INFO Loading weights took 3.21 seconds\n"
      "INFO Overriding num_gpu_blocks=0 with num_gpu_blocks_override=512\n"
      "RuntimeError: Engine core initialization failed. See root cause above. Failed core "
      "proc(s)\n");
  EXPECT_TRUE(log.readings.empty());
  EXPECT_TRUE(log.failures.empty());
}

TEST(LogReader, TheCardByItsKernelsOrAList) {
  struct Case {
    std::string_view text, card;
  };
  for (const Case& c : {
           Case{"WARNING Using default MoE config at '/x/E=128,N=768,device_name=NVIDIA_H200.json'",
                "NVIDIA H200"},
           Case{"config file for E=257,N=256,device_name=NVIDIA_H100_80GB_HBM3,dtype=fp8_w8a8",
                "NVIDIA H100 80GB HBM3"},
           Case{"GPU 0: NVIDIA GB300 (UUID: GPU-b02f9abe)\nGPU 1: NVIDIA L4", "NVIDIA GB300"},
           // What the kernels are looked up by is the card in use, whatever a list begins with.
           Case{"GPU 0: NVIDIA GeForce RTX 3060\nat E=8,device_name=NVIDIA_GeForce_RTX_3090.json",
                "NVIDIA GeForce RTX 3090"},
       }) {
    LogReader reader;
    reader.feed(c.text);
    reader.finish();
    EXPECT_EQ(reader.log().config.gpu, c.card) << c.text;
  }
}

TEST(LogReader, TheBackendOfTheExpertsIsAnOptionUnlessGiven) {
  const auto backend = [](std::string_view text) {
    LogReader reader;
    reader.feed(text);
    reader.finish();
    const json::Value* value = reader.log().config.options.find("moe_backend");
    return value == nullptr ? std::string() : value->as_string();
  };
  EXPECT_EQ(backend("INFO [mxfp4.py:381] Using 'MARLIN' Mxfp4 MoE backend."), "marlin");
  EXPECT_EQ(backend("INFO [mxfp4.py:166] Using Marlin backend"), "marlin");
  EXPECT_EQ(backend("INFO Using 'FLASHINFER_TRTLLM' NvFp4 MoE backend out of"), "");
  EXPECT_EQ(backend("INFO non-default args: {'model': 'a/b', 'moe_backend': 'triton'}\n"
                    "INFO Using 'MARLIN' Mxfp4 MoE backend."),
            "triton");
}

// FULL graphs are captured up to max_num_seqs. 51 of them end at 512, so the default was larger.
TEST(LogReader, CapturedGraphsTellTheSequences) {
  const auto sequences = [](std::string_view version, std::string_view text) -> int64_t {
    LogReader reader;
    reader.feed("INFO [api_server.py:1] vLLM API server version " + std::string(version) + "\n");
    reader.feed(text);
    reader.finish();
    const json::Value* value = reader.log().config.options.find("max_num_seqs");
    return value == nullptr ? 0 : value->as_integer();
  };
  EXPECT_EQ(sequences("0.17.1",
                      "Capturing CUDA graphs (decode, FULL):   0%|          | 0/35 [00:00<?, ?it/s]"
                      "\rCapturing CUDA graphs (decode, FULL): 100%|███| 35/35 [00:01<00:00]\n"),
            256);
  EXPECT_EQ(sequences("0.22.0", "Capturing CUDA graphs (FULL): 100%|███| 19/19 [00:00<00:00]\n"),
            128);
  EXPECT_EQ(sequences("0.21.0",
                      "INFO [gpu_model_runner.py:6279] Profiling CUDA graph memory: PIECEWISE=51 "
                      "(largest=512), FULL=51 (largest=512)\n"),
            1024);
  // Sizes lie 8 apart up to 512 before 0.11.2.
  EXPECT_EQ(sequences("0.11.0", "Capturing CUDA graphs (decode, FULL): 100%|█| 67/67 [00:02]\n"),
            1024);
  // Sizes of one's own say nothing.
  EXPECT_EQ(sequences("0.21.0",
                      "INFO non-default args: {'model': 'a/b', 'cudagraph_capture_sizes': [1, 2]}\n"
                      "Capturing CUDA graphs (decode, FULL): 100%|█| 2/2 [00:02]\n"),
            0);
}

TEST(LogReader, WhatTheEngineCameToIsAnOption) {
  LogReader reader;
  reader.feed(
      "(Worker_TP0 pid=1) WARNING [custom_all_reduce.py:154] Custom allreduce is disabled because "
      "your platform lacks GPU P2P capability\n"
      "INFO [flashinfer.py:780] decode_backend=flashinfer-native, "
      "kv_cache_dtype=torch.float8_e4m3fn, arch=sm121\n"
      "INFO [api_server.py:1] vLLM API server version 0.22.0\n"
      "INFO [topk_topp_sampler.py:44] Using FlashInfer for top-p & top-k sampling.\n"
      "INFO [model_runner.py:274] Loading model from scratch...\n"
      "WARNING [interface.py:525] Using 'pin_memory=False' as WSL is detected.\n");
  reader.finish();
  const LogConfig& config = reader.log().config;
  ASSERT_NE(config.options.find("disable_custom_all_reduce"), nullptr);
  ASSERT_NE(config.options.find("kv_cache_dtype"), nullptr);
  EXPECT_EQ(config.options.find("kv_cache_dtype")->as_string(), "fp8");
  EXPECT_TRUE(config.wsl);
  using Variable = std::pair<std::string, std::string>;
  EXPECT_EQ(config.env, (std::vector<Variable>{{"VLLM_USE_FLASHINFER_SAMPLER", "1"},
                                               {"VLLM_USE_V2_MODEL_RUNNER", "1"}}));
}

// Lines of WaroonRagwongsiri/SuperAi-SS6-Level2-Hack4 vllm.log and llm.log, 0.22.0.
TEST(LogReader, TheRunnerAndARestartAreVariables) {
  LogReader reader;
  reader.feed(
      "(APIServer pid=1) INFO [api_server.py:1] vLLM API server version 0.22.0\n"
      "(EngineCore pid=2) INFO [gpu_model_runner.py:5037] Starting to load model a/b...\n"
      "(EngineCore pid=2) INFO [decorators.py:311] Directly load AOT compilation from path "
      "/root/.cache/vllm/torch_compile_cache/torch_aot_compile/53/rank_0_0/model\n"
      "(EngineCore pid=3) INFO [decorators.py:311] Directly load AOT compilation from path "
      "/root/.cache/vllm/torch_compile_cache/torch_aot_compile/53/rank_1_0/model\n");
  reader.finish();
  using Variable = std::pair<std::string, std::string>;
  EXPECT_EQ(reader.log().config.env, (std::vector<Variable>{{"VLLM_USE_V2_MODEL_RUNNER", "0"},
                                                            {"VLLM_FORCE_AOT_LOAD", "1"}}));
}

}  // namespace
// A server that was started twice.
constexpr std::string_view kFirst =
    "INFO [utils.py:233] non-default args: {'model': 'org/first', 'max_model_len': 8192}\n"
    "INFO [gpu_worker.py:298] Available KV cache memory: 3.00 GiB\n";
constexpr std::string_view kDied = "ValueError: No available memory for the cache blocks.\n";
constexpr std::string_view kSecond =
    "INFO [api_server.py:1] vLLM API server version 0.11.0\n"
    "INFO [utils.py:233] non-default args: {'model': 'org/second'}\n";
constexpr std::string_view kCameUp = "INFO:     Application startup complete.\n";

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

// Newer releases print their version beside the picture of their name alone. What looks like it is
// another program's.
TEST(LogReader, TheVersionBesideThePicture) {
  constexpr std::string_view kArguments =
      "(APIServer pid=1) INFO 04-19 11:22:58 [utils.py:233] non-default args: "
      "{'model_tag': 'Qwen/Qwen3-8B', 'max_model_len': 8192}\n"
      "(EngineCore pid=2) INFO 04-19 11:23:55 [gpu_model_runner.py:4837] Model loading took 15.27 "
      "GiB memory and 27.2 seconds\n";
  const Log log = read_log(
      "(APIServer pid=1) INFO 04-19 11:22:58 [utils.py:299]        █     █     █▄   ▄█\n"
      "(APIServer pid=1) INFO 04-19 11:22:58 [utils.py:299]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version "
      "0.19.2rc1.dev8+g4b7f5ea1a\n" +
      std::string(kArguments));
  EXPECT_EQ(log.config.version, "0.19.2rc1.dev8+g4b7f5ea1a");
  EXPECT_EQ(value(log, "weights"), 15.27 * kG);
  EXPECT_EQ(
      read_log("INFO [utils.py:299] █  version 1.2.3\n" + std::string(kArguments)).config.version,
      "");
}

TEST(LogReader, TheLastOfSeveralStartsIsRead) {
  const Log log = read_log(joined({kFirst, kDied, kSecond, kCameUp}));
  EXPECT_EQ(log.starts, 2);
  EXPECT_EQ(log.config.model, "org/second");
  EXPECT_EQ(log.config.version, "0.11.0");
  EXPECT_FALSE(log.config.options.has("max_model_len"));
  EXPECT_TRUE(log.failures.empty());
  EXPECT_EQ(log.one("available"), nullptr);
  EXPECT_TRUE(log.serving);
  EXPECT_EQ(log.lines, 6);
}

TEST(LogReader, AStartThatIsCutOffLeavesTheOneBeforeIt) {
  const Log log = read_log(joined({kFirst, kDied, kSecond}));
  EXPECT_EQ(log.starts, 2);
  EXPECT_EQ(log.config.model, "org/first");
  ASSERT_EQ(log.failures.size(), 1U);
  EXPECT_EQ(log.failures.front().line, 3);
  EXPECT_NE(log.one("available"), nullptr);
}

TEST(LogReader, WhatRanksPrintAgainIsTheSameStart) {
  const Log log = read_log(joined({kFirst, kFirst, kSecond, kCameUp}));
  EXPECT_EQ(log.starts, 1);
  EXPECT_NE(log.one("available"), nullptr);
}

// Lines of the text above with a collector's name before each.
std::string prefixed(std::string_view prefix, std::string_view text) {
  std::string out;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) out += std::string(prefix) + std::string(line) + "\n";
  }
  return out;
}

TEST(LogReader, ServersOfSeveralModelsInOneTextAreToldApart) {
  const std::pair<std::string_view, std::string_view> kCollectors[] = {
      {"chat-1   | ", "code-1   | "},
      {"[pod/chat-5f7/server] ", "[pod/code-6c9/server] "},
      {"Nov 30 12:00:01 gpu1 chat[811]: ", "Nov 30 12:00:01 gpu1 code[812]: "},
  };
  for (const auto& [one, other] : kCollectors) {
    const std::string text =
        prefixed(one, kFirst) + prefixed(other, kSecond) + prefixed(one, kDied) +
        prefixed(other, "INFO [gpu_worker.py:298] Available KV cache memory: 5.00 GiB\n") +
        prefixed(other, kCameUp);
    const Log log = read_log(text);
    // The one that failed, with its own values alone.
    EXPECT_EQ(log.config.model, "org/first") << one;
    ASSERT_EQ(log.servers.size(), 2U) << one;
    EXPECT_EQ(log.servers[1].model, "org/second");
    EXPECT_EQ(log.server, log.servers[0].name);
    ASSERT_NE(log.one("available"), nullptr);
    EXPECT_EQ(log.one("available")->text, "3.00 GiB");
    EXPECT_EQ(log.failures.size(), 1U);
    EXPECT_FALSE(log.serving);
    EXPECT_EQ(log.lines, 7);
  }
}

TEST(LogReader, RanksOfOneServerOnTwoNodesStayOneLog) {
  const std::string text = prefixed("node0  | ", kFirst) + prefixed("node1  | ", kFirst) +
                           prefixed("proxy  | ", kCameUp) + prefixed("node0  | ", kCameUp);
  const Log log = read_log(text);
  EXPECT_TRUE(log.servers.empty());
  EXPECT_EQ(log.config.model, "org/first");
  EXPECT_TRUE(log.serving);
}

}  // namespace vramwise::verify
