// A draft model has the buffers that the same model has alone, at the target's context.
#include <gtest/gtest.h>

#include "support/questions.h"

namespace vramwise::engines {
namespace {

using testing::Ask;
using testing::Asked;

constexpr const char* kSmall = R"({"architectures":["LlamaForCausalLM"],"model_type":"llama",
  "num_hidden_layers":16,"hidden_size":2048,"intermediate_size":8192,"num_attention_heads":32,
  "num_key_value_heads":8,"head_dim":64,"vocab_size":128256,"tie_word_embeddings":true,
  "max_position_embeddings":131072,"torch_dtype":"bfloat16"})";

Asked with_draft(Ask target, std::string_view draft_weights = "Q8_0") {
  Asked asked = testing::ask(target);
  const Asked draft = testing::ask({.config = kSmall, .weights = draft_weights});
  asked.draft_model = draft.model;
  asked.draft_weights = draft.weights;
  return asked;
}

int64_t row(const Assessment& a, int device, std::string_view item) {
  int64_t sum = 0;
  for (const LedgerRow& r : a.need.rows) {
    if (r.device == device && r.item == item) sum += r.bytes.likely.count();
  }
  return sum;
}

int64_t of(const std::vector<std::pair<std::string, Bytes>>& buffers, std::string_view name) {
  for (const auto& [key, bytes] : buffers) {
    if (key == name) return bytes.count();
  }
  return -1;
}

TEST(LlamaCppDraft, HasTheBuffersOfTheSameModelAlone) {
  const Assessment both = testing::assess(
      "llama.cpp", with_draft({.config = testing::kLlama8b,
                               .weights = "Q4_K_M",
                               .options = R"({"ctx_size":16384,"parallel":2,"n_gpu_layers":99,
                                 "spec_draft_ngl":99,"spec_draft_type_k":"q8_0",
                                 "spec_draft_type_v":"q8_0","flash_attn":"on"})"}));
  const Assessment alone = testing::assess(
      "llama.cpp", testing::ask({.config = kSmall,
                                 .weights = "Q8_0",
                                 .options = R"({"ctx_size":16384,"parallel":2,"n_gpu_layers":99,
                                   "cache_type_k":"q8_0","cache_type_v":"q8_0","flash_attn":"on",
                                   "n_outputs_max":2})"}));
  ASSERT_TRUE(alone.buffers.has_value());
  EXPECT_EQ(row(both, 0, "weights of the draft model"), of(alone.buffers->model, "CUDA0"));
  EXPECT_EQ(row(both, 0, "cache of the draft model"), of(alone.buffers->context, "CUDA0"));
  EXPECT_EQ(row(both, 0, "compute buffer of the draft model"), of(alone.buffers->compute, "CUDA0"));
  EXPECT_GT(of(alone.buffers->compute, "CUDA0"), 0);
}

TEST(LlamaCppDraft, LeavesTheTargetsBuffersAlone) {
  // Three drafted tokens are verified at a time: four logit rows a slot.
  const Ask target = {.config = testing::kLlama8b,
                      .weights = "Q4_K_M",
                      .options = R"({"ctx_size":8192,"parallel":1,"n_gpu_layers":99})"};
  const Assessment both = testing::assess("llama.cpp", with_draft(target));
  Ask rows = target;
  rows.options = R"({"ctx_size":8192,"parallel":1,"n_gpu_layers":99,"n_outputs_max":4})";
  const Assessment alone = testing::assess("llama.cpp", testing::ask(rows));
  EXPECT_EQ(both.buffers->model, alone.buffers->model);
  EXPECT_EQ(both.buffers->context, alone.buffers->context);
  EXPECT_EQ(both.buffers->compute, alone.buffers->compute);
  EXPECT_LT(both.users, alone.users);
}

TEST(LlamaCppDraft, MayRunOnACardOfItsOwn) {
  const Assessment a = testing::assess(
      "llama.cpp", with_draft({.config = testing::kLlama8b,
                               .weights = "Q4_K_M",
                               .gpu = "rtx-4090",
                               .count = 2,
                               .options = R"({"ctx_size":8192,"parallel":1,"device":"CUDA0",
                                 "n_gpu_layers":99,"spec_draft_device":"CUDA1"})"}));
  EXPECT_EQ(row(a, 0, "weights of the draft model"), 0);
  EXPECT_GT(row(a, 1, "weights of the draft model"), 0);
  EXPECT_GT(row(a, 1, "context and kernels of the backend"), 0);
  const Requirement* r = testing::find(a, "draft_model");
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(r->device, 1);
}

TEST(LlamaCppDraft, OnTheCpuCostsHostMemoryOnly) {
  const Assessment a = testing::assess(
      "llama.cpp", with_draft({.config = testing::kLlama8b,
                               .weights = "Q4_K_M",
                               .options = R"({"ctx_size":8192,"parallel":1,"n_gpu_layers":99,
                    "spec_draft_device":"none"})"}));
  EXPECT_EQ(row(a, 0, "weights of the draft model"), 0);
  EXPECT_GT(row(a, kHost, "weights of the draft model"), 0);
}

TEST(LlamaCppDraft, CountsInTheBytesOfOneMoreToken) {
  const Ask target = {.config = testing::kLlama8b,
                      .weights = "Q4_K_M",
                      .options = R"({"ctx_size":8192,"parallel":1,"n_gpu_layers":99})"};
  const Assessment both = testing::assess("llama.cpp", with_draft(target));
  const Assessment alone = testing::assess("llama.cpp", testing::ask(target));
  // 16 layers x 8 KV heads x 64 values x K and V in f16.
  EXPECT_EQ(both.kv.bytes_per_token, alone.kv.bytes_per_token + Bytes(16 * 8 * 64 * 2 * 2));
}

TEST(LlamaCppDraft, HeadsAreEstimatedWithABar) {
  const Assessment a = testing::assess(
      "llama.cpp", testing::ask({.config = testing::kLlama8b,
                                 .weights = "Q4_K_M",
                                 .options = R"({"ctx_size":8192,"parallel":1,"n_gpu_layers":99,
                                   "spec_type":"draft-eagle3","spec_draft_model":"head.gguf"})"}));
  bool found = false;
  for (const LedgerRow& r : a.need.rows) {
    if (r.item != "weights of the draft model" || r.device != 0) continue;
    found = true;
    EXPECT_EQ(r.basis, Basis::modelled);
    EXPECT_LT(r.bytes.low, r.bytes.likely);
    EXPECT_LT(r.bytes.likely, r.bytes.high);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace vramwise::engines
