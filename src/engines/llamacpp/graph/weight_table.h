// Where each weight of the file lies and in what type, by slot and layer, so that a graph finds its
// weights without comparing names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weights/ggml_type.h"

namespace vramwise::engines::llamacpp {

// One for each tensor name of a GGUF file that the graphs use. The table in weight_table.cpp gives
// the name; the order here is free.
enum class Slot : uint8_t {
  token_embd,
  token_embd_norm,
  token_embd_norm_bias,
  token_types,
  position_embd,
  output,
  output_bias,
  output_norm,
  output_norm_bias,
  rope_freqs,
  rope_factors,
  per_layer_token_embd,
  per_layer_model_proj,
  per_layer_proj_norm,
  altup_proj,
  altup_unembd_proj,
  attn_norm,
  attn_norm_bias,
  attn_norm_2,
  attn_norm_2_bias,
  attn_q,
  attn_k,
  attn_v,
  attn_qkv,
  attn_q_bias,
  attn_k_bias,
  attn_v_bias,
  attn_qkv_bias,
  attn_q_norm,
  attn_k_norm,
  attn_output,
  attn_output_bias,
  attn_output_norm,
  attn_output_norm_bias,
  layer_output_norm,
  layer_output_norm_bias,
  attn_sinks,
  attn_gate,
  post_attention_norm,
  ffn_norm,
  ffn_norm_bias,
  post_ffw_norm,
  ffn_up,
  ffn_gate,
  ffn_down,
  ffn_up_bias,
  ffn_gate_bias,
  ffn_down_bias,
  ffn_gate_inp,
  ffn_gate_inp_bias,
  ffn_gate_inp_scale,
  exp_probs_bias,
  ffn_up_exps,
  ffn_gate_exps,
  ffn_down_exps,
  ffn_gate_up_exps,
  ffn_up_exps_bias,
  ffn_gate_exps_bias,
  ffn_down_exps_bias,
  ffn_up_shexp,
  ffn_gate_shexp,
  ffn_down_shexp,
  ffn_gate_inp_shexp,
  ffn_latent_down,
  ffn_latent_up,
  post_ffw_norm_1,
  pre_ffw_norm_2,
  post_ffw_norm_2,
  attn_q_a,
  attn_q_a_norm,
  attn_q_b,
  attn_kv_a_mqa,
  attn_kv_a_norm,
  attn_kv_b,
  attn_k_b,
  attn_v_b,
  indexer_attn_q_b,
  indexer_attn_k,
  indexer_k_norm,
  indexer_k_norm_bias,
  indexer_proj,
  ssm_in,
  ssm_conv1d,
  ssm_conv1d_bias,
  ssm_x,
  ssm_dt,
  ssm_dt_bias,
  ssm_a,
  ssm_d,
  ssm_norm,
  ssm_out,
  ssm_ba,
  ssm_alpha,
  ssm_beta,
  ssm_conv1d_q,
  ssm_conv1d_k,
  ssm_conv1d_v,
  ssm_f_a,
  ssm_f_b,
  ssm_g_a,
  ssm_g_b,
  shortconv_in,
  shortconv_conv,
  shortconv_out,
  time_mix_lerp,
  time_mix_receptance,
  time_mix_key,
  time_mix_value,
  time_mix_output,
  time_mix_w0,
  time_mix_w1,
  time_mix_w2,
  time_mix_a0,
  time_mix_a1,
  time_mix_a2,
  time_mix_v0,
  time_mix_v1,
  time_mix_v2,
  time_mix_g1,
  time_mix_g2,
  time_mix_k_k,
  time_mix_k_a,
  time_mix_r_k,
  time_mix_ln,
  time_mix_ln_bias,
  channel_mix_lerp_k,
  channel_mix_key,
  channel_mix_value,
  inp_gate,
  proj,
  post_norm,
  layer_output_scale,
  altup_router,
  altup_router_norm,
  altup_predict_coef,
  altup_correct_coef,
  altup_correct_scale,
  laurel_l,
  laurel_r,
  laurel_post_norm,
  nextn_eh_proj,
  nextn_enorm,
  nextn_hnorm,
  nextn_head_norm,
  count,
};
inline constexpr size_t kSlots = size_t(Slot::count);

// Slot of a tensor name without its "blk.N." prefix; nullopt for names that no graph uses.
std::optional<Slot> slot_of(std::string_view name);

class WeightTable {
 public:
  struct Entry {
    weights::GgmlType type = weights::GgmlType::F16;
    int16_t device = -1;
    bool present = false;
  };

  void reset(size_t layers) { entries_.assign((layers + 1) * kSlots, {}); }
  // layer -1: tensors that belong to no layer.
  Entry& at(Slot slot, int64_t layer) {
    return entries_[size_t(layer + 1) * kSlots + size_t(slot)];
  }
  const Entry& at(Slot slot, int64_t layer) const {
    return entries_[size_t(layer + 1) * kSlots + size_t(slot)];
  }
  // The device of every tensor that is there, two characters each.
  void append_devices(std::string& key) const {
    for (const Entry& e : entries_) {
      if (!e.present) continue;
      key += char(e.device & 0xff);
      key += char((e.device >> 8) & 0xff);
    }
  }
  bool has(Slot slot, int64_t layer) const { return at(slot, layer).present; }
  size_t size() const { return entries_.size(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace vramwise::engines::llamacpp
