// Ling and Ring: one matrix for q, k, v; experts with a shared one. Ring-linear keeps a linear
// state in most layers; Ling 3 mixes Kimi delta attention with latent attention. Sarvam 30B is a
// Ling of the second generation. Source: vllm model_executor/models/sarvam.py;
// inclusionAI/Ling-mini-2.0 modeling_bailing_moe_v2.py; inclusionAI/Ring-mini-linear-2.0.
#include "model/arch_rule.h"
#include "model/latent_parts.h"
#include "model/llama_like.h"
#include "model/plain_attention.h"

namespace vramwise::model {
namespace {

// Sarvam's class takes shared experts, selection biases and head norms for granted.
bool is_sarvam(const Fields& fields) { return fields.text_or({"model_type"}, "") == "sarvam_moe"; }

MoeFeedForward read_experts(const Fields& fields) {
  const bool sarvam = is_sarvam(fields);
  MoeFeedForward moe;
  moe.experts = fields.required({"num_experts", "n_routed_experts"}, 1, kMaxExperts);
  moe.active = fields.required({"num_experts_per_tok"}, 1, kMaxExperts);
  moe.width = fields.extent({"moe_intermediate_size"});
  moe.shared_width = fields.extent_or({"moe_shared_expert_intermediate_size"}, moe.width) *
                     fields.experts_or({"num_shared_experts", "n_shared_experts"}, sarvam ? 1 : 0);
  moe.correction_bias = fields.flag({"moe_router_enable_expert_bias"}, sarvam);
  moe.gating = moe.correction_bias ? RouterGating::sigmoid : RouterGating::softmax;
  moe.normalise_weights = fields.flag({"norm_topk_prob"}, true);
  moe.scale_weights = fields.real({"routed_scaling_factor"}, 1, 0, 1e6) != 1;
  moe.expert_groups = fields.small_or({"n_group"}, 0);
  return moe;
}

void add_mixer(Builder& b, const Heads& heads) {
  const Fields& fields = b.text();
  AttentionBlock block = plain_attention(heads);
  block.fused_qkv = true;
  block.qkv_bias = fields.flag({"use_qkv_bias"}, false);
  block.output_bias = fields.flag({"use_bias"}, false);
  if (fields.flag({"use_qk_norm"}, is_sarvam(fields))) block.qk_norm = QkNorm::per_head;
  b.attention(block, {.scope = "attention.",
                      .o = "dense",
                      .q_norm = "query_layernorm",
                      .k_norm = "key_layernorm",
                      .fused = "query_key_value"});
}

// Ring-linear: a linear state, except for every layer_group_size-th layer.
void add_linear_mixer(Builder& b, const Heads& heads) {
  const int64_t inner = heads.query * heads.dim;
  b.linear(Role::recurrent_in, "attention.query_key_value", 3 * inner, b.hidden());
  b.linear(Role::recurrent_in, "attention.g_proj", inner, b.hidden());
  b.weight_norm("attention.g_norm", inner, Role::recurrent_norm);
  b.weight_norm("attention.query_layernorm", heads.dim, Role::recurrent_norm);
  b.weight_norm("attention.key_layernorm", heads.dim, Role::recurrent_norm);
  b.linear(Role::recurrent_out, "attention.dense", b.hidden(), inner);
  b.recurrent(LightningState{heads.query, heads.dim});
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  const std::string type = fields.text_or({"model_type"}, "");
  // The third generation publishes a config without model_type; latent ranks tell it apart.
  const bool v3 = fields.has({"kv_lora_rank"}) && fields.has({"layer_group_size"});
  const bool linear = type == "bailing_moe_linear";
  const bool v2 = fields.flag({"moe_router_enable_expert_bias"}, false);
  Builder b(fields, fields,
            {.positions = 32768,
             .gguf = v3                            ? "bailingmoe3"
                     : linear || is_sarvam(fields) ? ""
                     : v2                          ? "bailingmoe2"
                                                   : "bailingmoe"});
  const Heads heads = read_heads(fields);
  const MoeFeedForward moe = read_experts(fields);
  const int64_t layers = fields.layers();
  const int64_t dense =
      fields.number({"first_k_dense_replace"}, is_sarvam(fields) ? 1 : 0, 0, kMaxLayers);
  const int64_t group = fields.divisor_or({"layer_group_size"}, 1);
  const bool bias = fields.flag({"use_bias"}, false);
  const LatentBlock latent = v3 ? read_latent(fields) : LatentBlock();
  const KimiDeltaSpec delta{
      .state = {heads.query, heads.dim, fields.divisor_or({"short_conv_kernel_size"}, 4)}};
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("model.layers.", i);
    const bool last_of_group = (i + 1) % group == 0;
    if (v3 && last_of_group) {
      b.latent(latent, false, "attention.");
    } else if (v3) {
      b.kimi_delta(delta, "attention.");
    } else if (linear && !last_of_group) {
      add_linear_mixer(b, heads);
    } else {
      add_mixer(b, heads);
    }
    if (i < dense) {
      b.gated_mlp(fields.extent({"intermediate_size"}), bias);
    } else {
      b.moe(moe, {.correction = "mlp.gate.expert_bias", .expert_bias = bias});
    }
    b.pre_norms("input_layernorm", "post_attention_layernorm");
  }
  b.end_layers("model.");
  b.embedding("word_embeddings");
  b.norm("norm");
  b.head();
  if (v3) {
    add_latent_rope(b, latent.rope_dim);
  } else {
    add_rope_table(fields, b.model(), heads.dim);
  }
  if (v3 || linear) {
    fields.notes().warn("tensors_unverified",
                        "the tensors of this Ling generation met no published total: weights may "
                        "be off slightly");
  }
  return b.finish();
}

constexpr std::string_view kTypes[] = {"bailing_moe", "bailing_moe_v2", "bailing_moe_linear",
                                       "bailing_v3",  "bailing_hybrid", "sarvam_moe"};
constexpr std::string_view kClasses[] = {"BailingMoeForCausalLM", "BailingMoeV2ForCausalLM",
                                         "BailingMoeV3ForCausalLM", "BailingMoeLinearV2ForCausalLM",
                                         "SarvamMoEForCausalLM"};

}  // namespace

const ArchRule& arch_bailing() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
