// Projectors, adapters and what grows on the host, beside published figures.
#include <gtest/gtest.h>

#include "catalog/model_ref.h"
#include "engines/llamacpp/extras.h"
#include "model/from_config.h"
#include "support/questions.h"

namespace vramwise::engines {
namespace {

using testing::Ask;

double mib(Bytes b) { return double(b.count()) / (1 << 20); }

std::string config_of(std::string_view id) {
  auto ref = catalog::resolve_model(id);
  EXPECT_TRUE(ref.has_value()) << id;
  return json::dump(ref->config);
}

model::Model model_of(std::string_view id) {
  auto ref = catalog::resolve_model(id);
  EXPECT_TRUE(ref.has_value()) << id;
  auto model = model::from_config(json::Reader(ref->config, "config.json"), id);
  EXPECT_TRUE(model.has_value()) << id;
  return std::move(*model);
}

ByteRange row(const Assessment& a, int device, std::string_view item) {
  ByteRange sum;
  for (const LedgerRow& r : a.need.rows) {
    if (r.device == device && r.item == item) sum += r.bytes;
  }
  return sum;
}

TEST(LlamaCppExtras, ProjectorFilesAsPrinted) {
  struct Case {
    const char* model;
    double printed_mib, tolerance_mib;
    const char* source;
  };
  const Case cases[] = {
      {"Qwen/Qwen3-VL-4B-Instruct", 800.43, 0.006, "ggml-org/llama.cpp#17300"},
      // This converter kept the first layer in 16 bits, and adds one row of its own.
      {"mistralai/Mistral-Small-3.2-24B-Instruct-2506", 837.36, 1.3, "ggml-org/llama.cpp#16842"},
  };
  for (const Case& c : cases) {
    const Bytes bytes = llamacpp::projector_bytes(model_of(c.model), weights::GgmlType::F16);
    EXPECT_NEAR(mib(bytes), c.printed_mib, c.tolerance_mib) << c.source;
  }
}

TEST(LlamaCppExtras, ProjectorGraphsAsPrinted) {
  struct Case {
    const char* model;
    const char* flash;
    double printed_mib, part;  // relative error allowed
    const char* source;
  };
  const Case cases[] = {
      {"Qwen/Qwen3-VL-4B-Instruct", "on", 322.49, 0.00002, "ggml-org/llama.cpp#17300"},
      {"Qwen/Qwen3-VL-4B-Instruct", "off", 4728, 0.01, "gpustack/gguf-parser-go#44"},
      {"google/gemma-3-4b-it", "on", 121, 0.08, "gpustack/gguf-parser-go#44"},
      {"google/gemma-3-4b-it", "off", 1132, 0.01, "gpustack/gguf-parser-go#44"},
  };
  for (const Case& c : cases) {
    const std::string config = config_of(c.model);
    const std::string options =
        std::string(R"({"ctx_size":4096,"n_gpu_layers":99,"mmproj":"mmproj-F16.gguf",)") +
        R"("flash_attn":")" + c.flash + "\"}";
    const Assessment a = testing::assess(
        "llama.cpp", testing::ask({.config = config, .weights = "Q4_K_M", .options = options}));
    const ByteRange graph = row(a, 0, "compute buffer of the vision projector");
    EXPECT_NEAR(mib(graph.likely) / c.printed_mib, 1, c.part) << c.source;
    EXPECT_LE(mib(graph.low), c.printed_mib) << c.source;
    EXPECT_GE(mib(graph.high), c.printed_mib) << c.source;
  }
}

TEST(LlamaCppExtras, ProjectorsLieOnTheFirstCardOrOnTheHost) {
  const std::string config = config_of("google/gemma-3-4b-it");
  const auto with = [&](const char* options) {
    return testing::assess("llama.cpp", testing::ask({.config = config,
                                                      .weights = "Q4_K_M",
                                                      .gpu = "rtx-4090",
                                                      .count = 2,
                                                      .options = options}));
  };
  const Assessment card = with(R"({"ctx_size":4096,"n_gpu_layers":99,"mmproj":"m.gguf"})");
  EXPECT_GT(row(card, 0, "vision projector").likely.count(), 0);
  EXPECT_EQ(row(card, 1, "vision projector").likely.count(), 0);
  const Assessment host =
      with(R"({"ctx_size":4096,"n_gpu_layers":99,"mmproj":"m.gguf","mmproj_offload":false})");
  EXPECT_EQ(row(host, 0, "vision projector").likely.count(), 0);
  EXPECT_GT(row(host, kHost, "vision projector").likely.count(), 0);
  const Assessment none = with(R"({"ctx_size":4096,"n_gpu_layers":99})");
  EXPECT_EQ(row(none, 0, "vision projector").high.count(), 0);
}

TEST(LlamaCppExtras, AdaptersFollowTheirLayers) {
  const auto with = [](const char* options) {
    return testing::assess(
        "llama.cpp",
        testing::ask({.config = testing::kLlama8b, .weights = "Q4_K_M", .options = options}));
  };
  const Assessment one = with(R"({"ctx_size":4096,"n_gpu_layers":99,"lora":"a.gguf"})");
  // 32 layers x rank 16 x (rows + columns of q, k, v, o, gate, up, down) x 2 bytes.
  constexpr int64_t kSides = (4096 + 4096) * 2 + (4096 + 1024) * 2 + (4096 + 14336) * 3;
  EXPECT_EQ(row(one, 0, "adapters").likely, Bytes(32 * 16 * kSides * 2));
  const Assessment two = with(R"({"ctx_size":4096,"n_gpu_layers":99,"lora":"a.gguf,b.gguf"})");
  EXPECT_EQ(row(two, 0, "adapters").likely, row(one, 0, "adapters").likely * 2);
}

TEST(LlamaCppExtras, HostMemoryGrowsToTheLimits) {
  const std::string gemma = config_of("google/gemma-3-27b-it");
  const auto with = [&](const char* options, const char* version = "b10470") {
    return testing::assess(
        "llama.cpp",
        testing::ask(
            {.config = gemma, .weights = "Q4_K_M", .version = version, .options = options}));
  };
  // One sequence's window: 52 layers x 1024 cells x 16 heads x 128 x K and V in f16 = 416 MiB.
  const Assessment a =
      with(R"({"ctx_size":8192,"parallel":2,"n_gpu_layers":99,"ctx_checkpoints":3})");
  EXPECT_EQ(row(a, kHost, "context checkpoints, growing to").high, MiB(416) * 3 * 2);
  EXPECT_EQ(row(a, kHost, "context checkpoints, growing to").likely, Bytes());
  EXPECT_EQ(row(a, kHost, "saved prompts, growing to").high, GiB(8));
  const Assessment off = with(R"({"ctx_size":8192,"parallel":1,"n_gpu_layers":99,"cache_ram":0})");
  EXPECT_EQ(row(off, kHost, "saved prompts, growing to").high, Bytes());
  EXPECT_EQ(row(off, kHost, "context checkpoints, growing to").high, MiB(416) * 32);
  const Assessment old = with(R"({"ctx_size":8192,"parallel":1,"n_gpu_layers":99})", "b6000");
  EXPECT_EQ(row(old, kHost, "saved prompts, growing to").high, Bytes());
  EXPECT_EQ(row(old, kHost, "context checkpoints, growing to").high, Bytes());
}

}  // namespace
}  // namespace vramwise::engines
