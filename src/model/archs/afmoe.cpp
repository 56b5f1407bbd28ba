// Trinity (AFMoE): three sliding layers, then one that reads all; gated attention and experts.
// Source: transformers models/afmoe/modeling_afmoe.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 131072, .gguf = "afmoe"});
  b.model().embedding_scaled = fields.flag({"mup_enabled"}, false);
  const int64_t layers = fields.layers();
  const int64_t window = fields.extent_or({"sliding_window"}, 2048);
  const std::vector<std::string> types =
      layer_types(fields, layers, fields.small_or({"global_attn_every_n_layers"}, 4));
  const int64_t dense = fields.number({"num_dense_layers"}, 1, 0, kMaxLayers);
  MoeFeedForward moe;
  moe.experts = fields.required({"num_experts", "num_local_experts"}, 1, kMaxExperts);
  moe.active = fields.required({"num_experts_per_tok"}, 1, kMaxExperts);
  moe.width = fields.extent({"moe_intermediate_size"});
  moe.shared_width = moe.width * fields.experts_or({"num_shared_experts"}, 0);
  moe.correction_bias = true;
  moe.gating = RouterGating::sigmoid;
  LlamaLike options;
  options.qk_norm = QkNorm::per_head;
  options.norms = NormPlan::sandwich;
  options.attention = [&](int64_t i, AttentionBlock& block) {
    block.rope = types[size_t(i)] == "sliding_attention";
    if (block.rope) block.window = window;
    b.linear(Role::attention_gate, "self_attn.gate_proj", block.query_heads * block.key_dim,
             b.hidden());
  };
  options.feed_forward = [&](int64_t i) {
    if (i < dense) return false;
    b.moe(moe, {.router = "mlp.router.gate", .correction = "mlp.expert_bias"});
    return true;
  };
  add_llama_like(b, options);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"afmoe"};
constexpr std::string_view kClasses[] = {"AfmoeForCausalLM"};

}  // namespace

const ArchRule& arch_afmoe() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
