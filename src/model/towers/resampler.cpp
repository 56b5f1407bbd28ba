// Source: openbmb/MiniCPM-V-2_6 resampler.py (its position table is computed, not stored);
// transformers models/idefics2/modeling_idefics2.py (Idefics2PerceiverResampler).
#include "model/towers/resampler.h"

#include "model/towers/tower.h"

namespace vramwise::model {

void add_minicpm_resampler(Builder& b, int64_t queries, int64_t from) {
  const int64_t h = b.hidden();
  b.add(Role::projector, "query", {queries, h});
  if (from != h) projector_linear(b, "kv_proj", h, from, false);
  b.add(Role::projector, "attn.in_proj_weight", {3 * h, h});
  b.add(Role::projector, "attn.in_proj_bias", {3 * h});
  projector_linear(b, "attn.out_proj", h, h, true);
  for (const std::string_view norm : {"ln_q", "ln_kv", "ln_post"}) {
    b.biased_norm(norm, h, Role::projector);
  }
  b.add(Role::projector, "proj", {h, h});
}

void add_idefics2_perceiver(Builder& b, const Fields& perceiver) {
  const int64_t h = b.hidden();
  const int64_t latents = perceiver.extent_or({"resampler_n_latents"}, 64);
  const int64_t depth = perceiver.number({"resampler_depth"}, 3, 1, kMaxLayers);
  const int64_t dim = perceiver.divisor_or({"resampler_head_dim"}, 96);
  const int64_t query = dim * perceiver.divisor_or({"resampler_n_heads"}, 16);
  const int64_t kv = dim * perceiver.divisor_or({"num_key_value_heads"}, 4);
  b.add(Role::projector, "latents", {latents, h});
  for (int64_t i = 0; i < depth && !b.failed(); ++i) {
    const std::string p = block_scope("layers.", i);
    for (const std::string_view norm :
         {"input_latents_norm", "input_context_norm", "post_attention_layernorm"}) {
      b.weight_norm(p + std::string(norm), h, Role::projector);
    }
    projector_linear(b, p + "self_attn.q_proj", query, h, false);
    projector_linear(b, p + "self_attn.k_proj", kv, h, false);
    projector_linear(b, p + "self_attn.v_proj", kv, h, false);
    projector_linear(b, p + "self_attn.o_proj", h, query, false);
    b.gated_tensors(Role::projector, Role::projector, Role::projector, p + "mlp.", 4 * h,
                    "gate_proj", "up_proj", "down_proj");
  }
  b.weight_norm("norm", h, Role::projector);
}

}  // namespace vramwise::model
