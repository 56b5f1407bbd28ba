// Kimi Linear and Kimi K3 (Kimi delta attention with latent attention in every fourth layer), and
// GLM-5.3-Flash, whose few attention layers are sparse with pooled index keys.
// Source: moonshotai/Kimi-Linear-48B-A3B-Instruct modeling_kimi.py; moonshotai/Kimi-K3 and
// zai-org/GLM-5.3-Flash config.json. K3 and GLM-5.3 met no published total.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/deepseek_v4_parts.h"
#include "model/latent_parts.h"
#include "model/towers/glm5v.h"
#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

struct Plan {
  std::vector<bool> delta;    // else latent attention
  std::vector<bool> experts;  // else dense
  bool glm = false;
};

Plan read_plan(const Fields& text, const Fields& linear, int64_t layers) {
  Plan plan;
  plan.delta.assign(size_t(layers), false);
  plan.experts.assign(size_t(layers), false);
  plan.glm = text.has({"mlp_layer_types"});
  const std::vector<std::string> types = text.names({"layer_types"}, layers);
  for (size_t i = 0; i < types.size(); ++i) plan.delta[i] = types[i] == "linear_attention";
  if (types.empty()) {
    // Kimi's lists count layers from 1.
    for (const int64_t i : linear.any_integers({"kda_layers"})) {
      if (i >= 1 && i <= layers) plan.delta[size_t(i - 1)] = true;
    }
  }
  const int64_t dense = text.number({"first_k_dense_replace"}, 1, 0, kMaxLayers);
  const int64_t every = text.divisor_or({"moe_layer_freq"}, 1);
  for (int64_t i = dense; i < layers; ++i) plan.experts[size_t(i)] = i % every == 0;
  return plan;
}

MoeFeedForward read_experts(const Fields& text) {
  MoeFeedForward moe;
  moe.experts = text.required({"num_experts", "n_routed_experts"}, 1, kMaxExperts);
  moe.active = text.required({"num_experts_per_token", "num_experts_per_tok"}, 1, kMaxExperts);
  moe.width = text.extent({"moe_intermediate_size"});
  moe.shared_width = moe.width * text.experts_or({"num_shared_experts", "n_shared_experts"}, 0);
  moe.latent_width = text.extent_or({"routed_expert_hidden_size"}, 0);
  moe.correction_bias = true;
  moe.gating = RouterGating::sigmoid;
  moe.normalise_weights = text.flag({"moe_renormalize", "norm_topk_prob"}, true);
  moe.scale_weights = text.real({"routed_scaling_factor"}, 1, 0, 1e6) != 1;
  return moe;
}

void add_experts(Builder& b, const MoeFeedForward& moe, bool glm) {
  if (glm) {
    b.moe(moe);
    return;
  }
  b.moe(moe, {.router = "block_sparse_moe.gate",
              .correction = "block_sparse_moe.gate.e_score_correction_bias",
              .experts = "block_sparse_moe.experts.{e}.",
              .gate = "w1",
              .up = "w3",
              .down = "w2",
              .shared = "block_sparse_moe.shared_experts."});
  if (moe.latent_width == 0) return;
  b.linear(Role::expert_latent_down, "block_sparse_moe.routed_expert_down_proj", moe.latent_width,
           b.hidden());
  b.linear(Role::expert_latent_up, "block_sparse_moe.routed_expert_up_proj", b.hidden(),
           moe.latent_width);
  if (b.text().flag({"latent_moe_use_norm"}, false)) {
    b.weight_norm("block_sparse_moe.routed_expert_norm", moe.latent_width);
  }
}

// K3 mixes the outputs of earlier blocks into its residual stream.
void add_residual_mixing(Builder& b, std::string_view name) {
  b.linear(Role::residual_scale, std::string(name) + "_proj", 1, b.hidden());
  b.weight_norm(std::string(name) + "_norm", b.hidden());
}

// Pooled index keys: a gate weighs the keys of a pool, and a vector a place in it.
void add_index_pool(Builder& b, const LatentBlock& latent, int64_t pool) {
  b.add(Role::indexer, "self_attn.indexer.index_kpool_compress_ape", {pool, latent.indexer_dim});
  b.add(Role::indexer, "self_attn.indexer.index_kpool_compress_gate",
        {latent.indexer_dim, b.hidden()});
}

void add_text(Builder& b, const std::string& prefix) {
  const Fields& text = b.text();
  const Fields linear = text.nested({"linear_attn_config"});
  const int64_t layers = text.layers();
  const Plan plan = read_plan(text, linear, layers);
  const MoeFeedForward moe = read_experts(text);
  const bool indexed = plan.glm && text.has({"index_n_heads"});
  const LatentBlock latent = indexed ? read_sparse_latent(text) : read_latent(text);
  const KimiDeltaSpec delta{.state = {linear.small({"num_heads"}), linear.small({"head_dim"}),
                                      linear.divisor_or({"short_conv_kernel_size"}, 4)},
                            .full_rank_gate = linear.flag({"use_full_rank_gate"}, false)};
  const bool gate = text.flag({"mla_use_output_gate"}, false);
  const bool mixing = text.small_or({"attn_res_block_size"}, 0) > 0;
  const int64_t streams =
      text.flag({"mhc"}, plan.glm) ? text.number({"hc_mult"}, 1, 1, 64) : int64_t{1};
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer(prefix + "model.layers.", i);
    if (plan.delta[size_t(i)]) {
      b.kimi_delta(delta, "self_attn.");
    } else {
      b.latent(latent, text.flag({"attention_bias"}, false));
      if (gate) {
        b.linear(Role::attention_gate, "self_attn.g_proj", latent.query_heads * latent.value_dim,
                 b.hidden());
      }
      if (indexed) {
        const int64_t pool = text.divisor_or({"index_kpool"}, 1);
        b.indexer(latent, "self_attn.indexer.", pool);
        if (text.flag({"index_kpool_compress"}, pool > 1)) add_index_pool(b, latent, pool);
      }
    }
    if (plan.experts[size_t(i)]) {
      add_experts(b, moe, plan.glm);
    } else {
      b.gated_mlp(text.extent({"intermediate_size"}));
    }
    b.pre_norms("input_layernorm", "post_attention_layernorm");
    // GLM-5.3 keeps several residual streams, mixed before attention and feed-forward.
    if (streams > 1) {
      for (const std::string_view name : {"attn_hc.", "ffn_hc."})
        add_stream_mixer(b, name, streams);
    }
    if (mixing) {
      add_residual_mixing(b, "self_attention_res");
      add_residual_mixing(b, "mlp_res");
    }
  }
  b.end_layers(prefix + "model.");
  if (mixing) add_residual_mixing(b, "output_attn_res");
  b.embedding();
  b.norm("norm");
  b.head(prefix + "lm_head");
}

void add_k3_tower(Builder& b, const Fields& vision) {
  const int64_t h = vision.extent({"vt_hidden_size"});
  const int64_t width = vision.extent({"vt_intermediate_size"});
  const int64_t qkv = vision.extent({"qkv_hidden_size"});
  const int64_t layers = vision.layers({"vt_num_hidden_layers"});
  const int64_t patch = vision.small({"patch_size"});
  begin_tower(b, "vision_tower.");
  b.add(Role::tower, "patch_embed.proj.weight", {h, 3, patch, patch});
  b.add(Role::tower, "patch_embed.pos_emb.weight",
        {vision.small({"init_pos_emb_height"}), vision.small({"init_pos_emb_width"}), h});
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string p = block_scope("encoder.blocks.", i);
    tower_norm(b, p + "norm0", h, false);
    tower_norm(b, p + "norm1", h, false);
    tower_linear(b, p + "wqkv", 3 * qkv, h, false);
    tower_linear(b, p + "wo", h, qkv, false);
    tower_linear(b, p + "mlp.fc0", width, h, false);
    tower_linear(b, p + "mlp.fc1", h, width, false);
  }
  tower_norm(b, "encoder.final_layernorm", h, false);
  begin_projector(b, "mm_projector.");
  projector_linear(b, "proj.0", 4 * h, 4 * h, false);
  projector_linear(b, "proj.2", b.hidden(), 4 * h, false);
  b.weight_norm("post_norm", b.hidden(), Role::projector);
  describe_tower(b, h, width, layers);
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const Fields text = top.text();
  const auto vision = top.section({"vision_config"});
  const std::string type = top.text_or({"model_type"}, "");
  const bool k3 = type == "kimi_k3";
  const bool glm = starts_with(type, "glm5_next");
  Builder b(top, text, {.positions = 1048576, .gguf = k3 ? "kimi-k3" : glm ? "" : "kimi-linear"});
  add_text(b, k3 ? "language_model." : "");
  if (k3 && vision) add_k3_tower(b, *vision);
  if (k3 || glm) {
    text.notes().warn("tensors_unverified",
                      "the tensors of this model met no published total: weights may be off "
                      "slightly");
  }
  if (glm && vision) add_glm5v(b, *vision);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"kimi_linear", "kimi_k3", "glm5_next", "glm5_next_text"};
constexpr std::string_view kClasses[] = {"KimiLinearForCausalLM", "KimiK3ForConditionalGeneration"};

}  // namespace

const ArchRule& arch_kimi_linear() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
