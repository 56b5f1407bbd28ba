#include "engines/llamacpp/graph/weight_table.h"

#include <algorithm>
#include <array>

namespace vramwise::engines::llamacpp {
namespace {

struct Name {
  std::string_view text;
  Slot slot;
};

// Source: llama.cpp src/llama-arch.cpp, LLM_TENSOR_NAMES.
constexpr std::array kNames = {
    Name{"token_embd.weight", Slot::token_embd},
    Name{"token_embd_norm.weight", Slot::token_embd_norm},
    Name{"token_embd_norm.bias", Slot::token_embd_norm_bias},
    Name{"output.weight", Slot::output},
    Name{"output.bias", Slot::output_bias},
    Name{"output_norm.weight", Slot::output_norm},
    Name{"output_norm.bias", Slot::output_norm_bias},
    Name{"rope_freqs.weight", Slot::rope_freqs},
    Name{"rope_factors_long.weight", Slot::rope_factors},
    Name{"per_layer_token_embd.weight", Slot::per_layer_token_embd},
    Name{"per_layer_model_proj.weight", Slot::per_layer_model_proj},
    Name{"per_layer_proj_norm.weight", Slot::per_layer_proj_norm},
    Name{"altup_proj.weight", Slot::altup_proj},
    Name{"altup_unembd_proj.weight", Slot::altup_unembd_proj},
    Name{"attn_norm.weight", Slot::attn_norm},
    Name{"attn_norm.bias", Slot::attn_norm_bias},
    Name{"attn_norm_2.weight", Slot::attn_norm_2},
    Name{"attn_norm_2.bias", Slot::attn_norm_2_bias},
    Name{"attn_q.weight", Slot::attn_q},
    Name{"attn_k.weight", Slot::attn_k},
    Name{"attn_v.weight", Slot::attn_v},
    Name{"attn_qkv.weight", Slot::attn_qkv},
    Name{"attn_q.bias", Slot::attn_q_bias},
    Name{"attn_k.bias", Slot::attn_k_bias},
    Name{"attn_v.bias", Slot::attn_v_bias},
    Name{"attn_qkv.bias", Slot::attn_qkv_bias},
    Name{"attn_q_norm.weight", Slot::attn_q_norm},
    Name{"attn_k_norm.weight", Slot::attn_k_norm},
    Name{"attn_output.weight", Slot::attn_output},
    Name{"attn_output.bias", Slot::attn_output_bias},
    Name{"attn_sinks.weight", Slot::attn_sinks},
    Name{"attn_gate.weight", Slot::attn_gate},
    Name{"post_attention_norm.weight", Slot::post_attention_norm},
    Name{"ffn_norm.weight", Slot::ffn_norm},
    Name{"ffn_norm.bias", Slot::ffn_norm_bias},
    Name{"post_ffw_norm.weight", Slot::post_ffw_norm},
    Name{"ffn_up.weight", Slot::ffn_up},
    Name{"ffn_gate.weight", Slot::ffn_gate},
    Name{"ffn_down.weight", Slot::ffn_down},
    Name{"ffn_up.bias", Slot::ffn_up_bias},
    Name{"ffn_gate.bias", Slot::ffn_gate_bias},
    Name{"ffn_down.bias", Slot::ffn_down_bias},
    Name{"ffn_gate_inp.weight", Slot::ffn_gate_inp},
    Name{"ffn_gate_inp.bias", Slot::ffn_gate_inp_bias},
    Name{"ffn_gate_inp.scale", Slot::ffn_gate_inp_scale},
    Name{"exp_probs_b.bias", Slot::exp_probs_bias},
    Name{"ffn_up_exps.weight", Slot::ffn_up_exps},
    Name{"ffn_gate_exps.weight", Slot::ffn_gate_exps},
    Name{"ffn_down_exps.weight", Slot::ffn_down_exps},
    Name{"ffn_gate_up_exps.weight", Slot::ffn_gate_up_exps},
    Name{"ffn_up_exps.bias", Slot::ffn_up_exps_bias},
    Name{"ffn_gate_exps.bias", Slot::ffn_gate_exps_bias},
    Name{"ffn_down_exps.bias", Slot::ffn_down_exps_bias},
    Name{"ffn_up_shexp.weight", Slot::ffn_up_shexp},
    Name{"ffn_gate_shexp.weight", Slot::ffn_gate_shexp},
    Name{"ffn_down_shexp.weight", Slot::ffn_down_shexp},
    Name{"ffn_gate_inp_shexp.weight", Slot::ffn_gate_inp_shexp},
    Name{"ffn_latent_down.weight", Slot::ffn_latent_down},
    Name{"ffn_latent_up.weight", Slot::ffn_latent_up},
    Name{"post_ffw_norm_1.weight", Slot::post_ffw_norm_1},
    Name{"pre_ffw_norm_2.weight", Slot::pre_ffw_norm_2},
    Name{"post_ffw_norm_2.weight", Slot::post_ffw_norm_2},
    Name{"attn_q_a.weight", Slot::attn_q_a},
    Name{"attn_q_a_norm.weight", Slot::attn_q_a_norm},
    Name{"attn_q_b.weight", Slot::attn_q_b},
    Name{"attn_kv_a_mqa.weight", Slot::attn_kv_a_mqa},
    Name{"attn_kv_a_norm.weight", Slot::attn_kv_a_norm},
    Name{"attn_kv_b.weight", Slot::attn_kv_b},
    Name{"attn_k_b.weight", Slot::attn_k_b},
    Name{"attn_v_b.weight", Slot::attn_v_b},
    Name{"indexer.attn_q_b.weight", Slot::indexer_attn_q_b},
    Name{"indexer.attn_k.weight", Slot::indexer_attn_k},
    Name{"indexer.k_norm.weight", Slot::indexer_k_norm},
    Name{"indexer.k_norm.bias", Slot::indexer_k_norm_bias},
    Name{"indexer.proj.weight", Slot::indexer_proj},
    Name{"ssm_in.weight", Slot::ssm_in},
    Name{"ssm_conv1d.weight", Slot::ssm_conv1d},
    Name{"ssm_conv1d.bias", Slot::ssm_conv1d_bias},
    Name{"ssm_x.weight", Slot::ssm_x},
    Name{"ssm_dt.weight", Slot::ssm_dt},
    Name{"ssm_dt.bias", Slot::ssm_dt_bias},
    Name{"ssm_a", Slot::ssm_a},
    Name{"ssm_d", Slot::ssm_d},
    Name{"ssm_norm.weight", Slot::ssm_norm},
    Name{"ssm_out.weight", Slot::ssm_out},
    Name{"ssm_ba.weight", Slot::ssm_ba},
    Name{"ssm_alpha.weight", Slot::ssm_alpha},
    Name{"ssm_beta.weight", Slot::ssm_beta},
    Name{"ssm_conv1d_q.weight", Slot::ssm_conv1d_q},
    Name{"ssm_conv1d_k.weight", Slot::ssm_conv1d_k},
    Name{"ssm_conv1d_v.weight", Slot::ssm_conv1d_v},
    Name{"ssm_f_a.weight", Slot::ssm_f_a},
    Name{"ssm_f_b.weight", Slot::ssm_f_b},
    Name{"ssm_g_a.weight", Slot::ssm_g_a},
    Name{"ssm_g_b.weight", Slot::ssm_g_b},
    Name{"shortconv.in_proj.weight", Slot::shortconv_in},
    Name{"shortconv.conv.weight", Slot::shortconv_conv},
    Name{"shortconv.out_proj.weight", Slot::shortconv_out},
    Name{"time_mix_lerp_fused.weight", Slot::time_mix_lerp},
    Name{"time_mix_receptance.weight", Slot::time_mix_receptance},
    Name{"time_mix_key.weight", Slot::time_mix_key},
    Name{"time_mix_value.weight", Slot::time_mix_value},
    Name{"time_mix_output.weight", Slot::time_mix_output},
    Name{"time_mix_w0.weight", Slot::time_mix_w0},
    Name{"time_mix_w1.weight", Slot::time_mix_w1},
    Name{"time_mix_w2.weight", Slot::time_mix_w2},
    Name{"time_mix_a0.weight", Slot::time_mix_a0},
    Name{"time_mix_a1.weight", Slot::time_mix_a1},
    Name{"time_mix_a2.weight", Slot::time_mix_a2},
    Name{"time_mix_v0.weight", Slot::time_mix_v0},
    Name{"time_mix_v1.weight", Slot::time_mix_v1},
    Name{"time_mix_v2.weight", Slot::time_mix_v2},
    Name{"time_mix_g1.weight", Slot::time_mix_g1},
    Name{"time_mix_g2.weight", Slot::time_mix_g2},
    Name{"time_mix_k_k.weight", Slot::time_mix_k_k},
    Name{"time_mix_k_a.weight", Slot::time_mix_k_a},
    Name{"time_mix_r_k.weight", Slot::time_mix_r_k},
    Name{"time_mix_ln.weight", Slot::time_mix_ln},
    Name{"time_mix_ln.bias", Slot::time_mix_ln_bias},
    Name{"channel_mix_lerp_k.weight", Slot::channel_mix_lerp_k},
    Name{"channel_mix_key.weight", Slot::channel_mix_key},
    Name{"channel_mix_value.weight", Slot::channel_mix_value},
    Name{"inp_gate.weight", Slot::inp_gate},
    Name{"proj.weight", Slot::proj},
    Name{"post_norm.weight", Slot::post_norm},
    Name{"layer_output_scale.weight", Slot::layer_output_scale},
    Name{"altup_router.weight", Slot::altup_router},
    Name{"altup_router_norm.weight", Slot::altup_router_norm},
    Name{"altup_predict_coef.weight", Slot::altup_predict_coef},
    Name{"altup_correct_coef.weight", Slot::altup_correct_coef},
    Name{"altup_correct_scale.weight", Slot::altup_correct_scale},
    Name{"laurel_l.weight", Slot::laurel_l},
    Name{"laurel_r.weight", Slot::laurel_r},
    Name{"laurel_post_norm.weight", Slot::laurel_post_norm},
    Name{"nextn.eh_proj.weight", Slot::nextn_eh_proj},
    Name{"nextn.enorm.weight", Slot::nextn_enorm},
    Name{"nextn.hnorm.weight", Slot::nextn_hnorm},
    Name{"nextn.shared_head_norm.weight", Slot::nextn_head_norm},
};

constexpr auto sorted_names() {
  auto names = kNames;
  std::sort(names.begin(), names.end(),
            [](const Name& a, const Name& b) { return a.text < b.text; });
  return names;
}
constexpr auto kSorted = sorted_names();

}  // namespace

std::optional<Slot> slot_of(std::string_view name) {
  const auto found =
      std::lower_bound(kSorted.begin(), kSorted.end(), name,
                       [](const Name& a, std::string_view text) { return a.text < text; });
  if (found == kSorted.end() || found->text != name) return std::nullopt;
  return found->slot;
}

}  // namespace vramwise::engines::llamacpp
