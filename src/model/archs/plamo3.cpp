// PLaMo 3: fused matrices, norms on both sides, head norms, and seven sliding layers to one that
// reads all. Source: vllm model_executor/models/plamo3.py; ggml-org/llama.cpp
// src/models/plamo3.cpp.
#include "model/arch_rule.h"
#include "model/llama_like.h"
#include "model/plain_attention.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 4096, .gguf = "plamo3"});
  const Heads heads = read_heads(fields, {.kv_heads = 4, .head_dim = 128});
  const int64_t layers = fields.layers();
  const int64_t window = fields.extent_or({"sliding_window"}, 2048);
  const std::vector<std::string> types =
      layer_types(fields, layers, fields.small_or({"sliding_window_pattern"}, 8));
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("model.layers.layers.", i);
    AttentionBlock block = plain_attention(heads);
    block.fused_qkv = true;
    block.qk_norm = QkNorm::per_head;
    if (types[size_t(i)] == "sliding_attention") block.window = window;
    b.attention(block, {.scope = "mixer."});
    b.fused_mlp(fields.extent({"intermediate_size"}));
    b.sandwich_norms("pre_mixer_norm", "post_mixer_norm", "pre_mlp_norm", "post_mlp_norm");
  }
  b.end_layers("model.");
  b.embedding();
  b.norm("norm");
  b.head();
  add_rope_table(fields, b.model(), heads.dim);
  fields.notes().warn("tensors_unverified",
                      "no config of PLaMo 3 with a published total was at hand: weights may be off "
                      "slightly");
  return b.finish();
}

constexpr std::string_view kTypes[] = {"plamo3"};
constexpr std::string_view kClasses[] = {"Plamo3ForCausalLM", "PLaMo3ForCausalLM"};

}  // namespace

const ArchRule& arch_plamo3() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
