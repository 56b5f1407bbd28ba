#include "weights/gguf_quirks.h"

namespace vramwise::weights {
namespace {

// Sources: ggml-org/llama.cpp convert_hf_to_gguf.py (names, MTP, stacks), src/llama-model.cpp
// (LLM_TYPE_70B), src/llama-quant.cpp (Falcon), gguf-py/gguf/tensor_mapping.py.
constexpr GgufQuirks kQuirks[] = {
    {.architecture = "deci", .kv_heads_by_layer = true, .layers_of_70b = 80},
    {.architecture = "exaone-moe", .keeps_mtp = true},
    {.architecture = "falcon", .falcon_mixture = true},
    {.architecture = "gemma4", .stacks_gate_up = true},
    {.architecture = "glm-dsa", .keeps_mtp = true},
    {.architecture = "glm4", .plain_post_attention_norm = true},
    {.architecture = "glm4moe", .post_attention_norm = true, .keeps_mtp = true},
    {.architecture = "gpt-oss", .post_attention_norm = true},
    {.architecture = "granite", .splits_gate_up = true},
    {.architecture = "granitehybrid", .splits_gate_up = true, .kv_heads_by_layer = true},
    {.architecture = "granitemoe", .splits_gate_up = true},
    {.architecture = "jais2", .layers_of_70b = 68},
    {.architecture = "jamba", .kv_heads_by_layer = true},
    {.architecture = "kimi-linear", .kv_heads_by_layer = true},
    {.architecture = "lfm2", .kv_heads_by_layer = true},
    {.architecture = "lfm2moe", .kv_heads_by_layer = true},
    {.architecture = "llama", .layers_of_70b = 80, .grouped_70b = true},
    {.architecture = "minicpm3", .keeps_kv_b = true},
    {.architecture = "nemotron_h", .kv_heads_by_layer = true},
    {.architecture = "nemotron_h_moe", .kv_heads_by_layer = true},
    {.architecture = "olmo", .layers_of_70b = 80},
    // Until the checkpoint's layout changed (ggml-org/llama.cpp#4903, 13 January 2024).
    {.architecture = "phi2", .fused_in_2023 = true},
    {.architecture = "phi3", .long_factors = true},
    {.architecture = "plamo2", .kv_heads_by_layer = true},
    {.architecture = "plm", .keeps_kv_b = true},
    {.architecture = "qwen2", .layers_of_70b = 80},
    {.architecture = "qwen35", .post_attention_norm = true},
    {.architecture = "qwen35moe", .post_attention_norm = true},
    {.architecture = "qwen3next", .post_attention_norm = true},
    {.architecture = "rwkv7", .rwkv_names = true},
};

}  // namespace

const GgufQuirks& gguf_quirks(std::string_view architecture) {
  static constexpr GgufQuirks none{};
  for (const GgufQuirks& q : kQuirks) {
    if (q.architecture == architecture) return q;
  }
  return none;
}

}  // namespace vramwise::weights
