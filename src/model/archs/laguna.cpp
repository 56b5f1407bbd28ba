// Laguna: every fourth layer, from the first, reads all; the others slide over 512 tokens and have
// more heads. A gate per head scales what attention puts out. Source: poolside/Laguna-XS.2
// config.json; its published total of 33,442,617,088 is met with 48 heads on full layers and 64 on
// sliding ones.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 131072, .gguf = "laguna"});
  const int64_t layers = fields.layers();
  const int64_t window = fields.extent_or({"sliding_window"}, 512);
  std::vector<std::string> types = fields.names({"layer_types"}, layers);
  for (int64_t i = int64_t(types.size()); i < layers; ++i) {
    types.emplace_back(i % 4 == 0 ? "full_attention" : "sliding_attention");
  }
  const int64_t dense =
      fields.number({"first_k_dense_replace", "num_dense_layers"}, 1, 0, kMaxLayers);
  MoeFeedForward moe;
  moe.experts = fields.experts_or({"num_experts", "num_local_experts", "n_routed_experts"}, 0);
  if (moe.experts > 0) {
    moe.active = fields.required({"num_experts_per_tok"}, 1, kMaxExperts);
    moe.width = fields.extent({"moe_intermediate_size"});
    moe.shared_width = fields.extent_or({"shared_expert_intermediate_size"}, 0);
    moe.correction_bias = true;
    moe.gating = RouterGating::sigmoid;
  }
  LlamaLike options;
  options.heads.head_dim = 128;
  options.qk_norm = QkNorm::per_head;
  const std::vector<int64_t> heads = fields.per_layer(
      {"num_attention_heads_per_layer"}, layers, fields.small({"num_attention_heads"}), kMaxSmall);
  const bool gate = fields.flag({"gating"}, true);
  options.attention = [&](int64_t i, AttentionBlock& block) {
    if (types[size_t(i)] == "sliding_attention") block.window = window;
    block.query_heads = heads[size_t(i)];
    if (gate) b.linear(Role::attention_gate, "self_attn.g_proj", block.query_heads, b.hidden());
  };
  options.feed_forward = [&](int64_t i) {
    if (moe.experts == 0 || i < dense) return false;
    b.moe(moe, {.shared = "mlp.shared_expert."});
    return true;
  };
  add_llama_like(b, options);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"laguna"};
constexpr std::string_view kClasses[] = {"LagunaForCausalLM"};

}  // namespace

const ArchRule& arch_laguna() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
