// LongCat-Flash: each layer holds two latent attentions, two dense MLPs and one set of experts,
// some of which ("zero experts") have no weights. Source: meituan-longcat/LongCat-Flash-Chat
// modeling_longcat_flash.py.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/latent_parts.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 131072});
  const LatentBlock latent = read_latent(fields);
  const bool bias = fields.flag({"attention_bias"}, false);
  const int64_t layers = fields.layers({"num_layers", "num_hidden_layers"});
  const int64_t width = fields.extent({"ffn_hidden_size", "intermediate_size"});
  const int64_t zero = fields.experts_or({"zero_expert_num"}, 0);
  MoeFeedForward moe;
  moe.experts = fields.required({"n_routed_experts"}, 1, kMaxExperts);
  moe.active = fields.required({"moe_topk", "num_experts_per_tok"}, 1, kMaxExperts);
  moe.width = fields.extent({"expert_ffn_hidden_size", "moe_intermediate_size"});
  moe.correction_bias = true;
  moe.normalise_weights = false;
  moe.scale_weights = fields.real({"routed_scaling_factor"}, 1, 0, 1e6) != 1;
  moe.dense_width = 2 * width;
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("model.layers.", i);
    for (const std::string half : {"0", "1"}) {
      b.latent(latent, bias, "self_attn." + half + ".");
      b.gated_mlp(width, false, {.scope = half == "0" ? "mlps.0." : "mlps.1."});
      b.norm("input_layernorm." + half);
      b.norm("post_attention_layernorm." + half);
    }
    // The router also scores the experts without weights.
    b.linear(Role::router, "mlp.router.classifier", moe.experts + zero, b.hidden(),
             fields.flag({"router_bias"}, false));
    b.buffer(Role::router_correction_bias, "mlp.router.e_score_correction_bias",
             {moe.experts + zero}, DType::float32);
    b.gated_tensors(Role::expert_gate, Role::expert_up, Role::expert_down, "mlp.experts.{e}.",
                    moe.width, "gate_proj", "up_proj", "down_proj", false, moe.experts);
    b.layer().feed_forward = moe;
  }
  const int64_t mtp = fields.number({"mtp_num_layers", "num_nextn_predict_layers"}, 1, 0, 100);
  for (int64_t i = 0; i < mtp && !b.failed(); ++i) {
    b.begin_mtp_layer("model.mtp.layers." + format_integer(i) + ".");
    b.latent(latent, bias);
    b.gated_mlp(width, false, {.scope = "transformer_layer.mlp."});
    b.linear(Role::mtp_projection, "eh_proj", b.hidden(), 2 * b.hidden());
    b.pre_norms("input_layernorm", "post_attention_layernorm");
    b.norm("enorm.m");
    b.norm("hnorm.m");
    b.set_scope("model.mtp.");
    if (i == 0) {
      b.norm("norm");
      b.embedding();
    }
  }
  b.end_layers("model.");
  b.embedding();
  b.norm("norm");
  b.head();
  add_latent_rope(b, latent.rope_dim);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"longcat_flash"};
constexpr std::string_view kClasses[] = {"LongcatFlashForCausalLM"};

}  // namespace

const ArchRule& arch_longcat() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
