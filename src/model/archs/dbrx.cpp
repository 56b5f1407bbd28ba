// DBRX: experts of a layer lie in three matrices of [experts * width, hidden].
// Source: transformers models/dbrx/modeling_dbrx.py.
#include "model/arch_rule.h"
#include "model/builder.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 2048, .gguf = "dbrx"});
  const Fields attention = fields.nested({"attn_config"}), ffn = fields.nested({"ffn_config"});
  const int64_t heads = fields.small({"n_heads"});
  const int64_t dim = fields.divide(b.hidden(), "d_model", heads, "n_heads");
  const int64_t layers = fields.layers({"n_layers"});
  MoeFeedForward moe;
  moe.experts = ffn.experts_or({"moe_num_experts"}, 4);
  moe.active = ffn.experts_or({"moe_top_k"}, 1);
  moe.width = ffn.extent({"ffn_hidden_size"});
  AttentionBlock block;
  block.query_heads = heads;
  block.kv_heads = attention.divisor_or({"kv_n_heads"}, 1);
  block.key_dim = block.value_dim = dim;
  block.fused_qkv = true;
  b.set_norm(NormKind::layer_norm);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("transformer.blocks.", i);
    b.attention(block, {.scope = "norm_attn_norm.attn.", .o = "out_proj", .fused = "Wqkv"});
    b.pre_norms("norm_attn_norm.norm_1", "norm_attn_norm.norm_2");
    b.linear(Role::router, "ffn.router.layer", moe.experts, b.hidden());
    const int64_t rows = moe.experts * moe.width;
    b.add(Role::expert_gate, "ffn.experts.mlp.w1", {rows, b.hidden()});
    b.add(Role::expert_up, "ffn.experts.mlp.v1", {rows, b.hidden()});
    b.add(Role::expert_down, "ffn.experts.mlp.w2", {rows, b.hidden()});
    b.layer().feed_forward = moe;
  }
  b.end_layers("transformer.");
  b.embedding("wte");
  b.norm("norm_f");
  b.head();
  add_rope_table(fields, b.model(), dim);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"dbrx"};
constexpr std::string_view kClasses[] = {"DbrxForCausalLM"};

}  // namespace

const ArchRule& arch_dbrx() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
