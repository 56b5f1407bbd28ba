#include "model/gguf/names.h"

#include "base/text.h"

namespace vramwise::model {
namespace {

struct Row {
  std::string_view name;  // without ".weight"; a bias has its own row where its role differs
  Role role;
};

// Source: ggml-org/llama.cpp gguf-py/gguf/constants.py, TENSOR_NAMES.
constexpr Row kLayerNames[] = {
    {"attn_q", Role::query},
    {"attn_k", Role::key},
    {"attn_v", Role::value},
    {"attn_qkv", Role::fused_qkv},
    {"attn_output", Role::attention_output},
    {"attn_q.bias", Role::query_bias},
    {"attn_k.bias", Role::key_bias},
    {"attn_v.bias", Role::value_bias},
    {"attn_qkv.bias", Role::fused_qkv_bias},
    {"attn_output.bias", Role::attention_output_bias},
    {"attn_q_norm", Role::query_norm},
    {"attn_k_norm", Role::key_norm},
    {"attn_gate", Role::attention_gate},
    {"attn_sinks", Role::attention_sinks},
    {"attn_q_a", Role::query_down},
    {"attn_q_a.bias", Role::query_down_bias},
    {"attn_q_b", Role::query_up},
    {"attn_kv_a_mqa", Role::kv_down},
    {"attn_kv_a_mqa.bias", Role::kv_down_bias},
    {"attn_kv_b", Role::kv_up},
    {"attn_k_b", Role::kv_up},
    {"attn_v_b", Role::kv_up},
    {"ffn_gate", Role::ffn_gate},
    {"ffn_up", Role::ffn_up},
    {"ffn_down", Role::ffn_down},
    {"ffn_gate.bias", Role::ffn_gate_bias},
    {"ffn_up.bias", Role::ffn_up_bias},
    {"ffn_down.bias", Role::ffn_down_bias},
    {"ffn_gate_inp", Role::router},
    {"ffn_gate_inp.bias", Role::router_bias},
    {"exp_probs_b", Role::router_correction_bias},
    {"exp_probs_b.bias", Role::router_correction_bias},
    {"ffn_gate_exps", Role::expert_gate},
    {"ffn_up_exps", Role::expert_up},
    {"ffn_down_exps", Role::expert_down},
    {"ffn_gate_up_exps", Role::expert_fused_gate_up},
    {"ffn_gate_exps.bias", Role::expert_gate_bias},
    {"ffn_up_exps.bias", Role::expert_up_bias},
    {"ffn_down_exps.bias", Role::expert_down_bias},
    {"ffn_gate_shexp", Role::shared_expert_gate},
    {"ffn_up_shexp", Role::shared_expert_up},
    {"ffn_down_shexp", Role::shared_expert_down},
    {"ffn_gate_inp_shexp", Role::shared_expert_router},
    {"ffn_latent_down", Role::expert_latent_down},
    {"ffn_latent_up", Role::expert_latent_up},
    {"ffn_gate_tid2eid", Role::hash_table},
    {"ssm_in", Role::recurrent_in},
    {"ssm_conv1d", Role::recurrent_conv},
    {"ssm_conv1d_q", Role::recurrent_conv},
    {"ssm_conv1d_k", Role::recurrent_conv},
    {"ssm_conv1d_v", Role::recurrent_conv},
    {"ssm_conv1d.bias", Role::recurrent_conv_bias},
    {"ssm_a", Role::recurrent_parameter},
    {"ssm_d", Role::recurrent_parameter},
    {"ssm_dt.bias", Role::recurrent_parameter},
    {"ssm_dt", Role::recurrent_projection},
    {"ssm_x", Role::recurrent_projection},
    {"ssm_norm", Role::recurrent_norm},
    {"ssm_out", Role::recurrent_out},
    {"ssm_ba", Role::recurrent_in_small},
    {"ssm_alpha", Role::recurrent_in_small},
    {"ssm_beta", Role::recurrent_in_small},
    {"ssm_f_a", Role::recurrent_in_small},
    {"ssm_f_b", Role::recurrent_in_small},
    {"ssm_g_a", Role::recurrent_in_small},
    {"ssm_g_b", Role::recurrent_in_small},
    {"shortconv.conv", Role::recurrent_conv},
    {"shortconv.in_proj", Role::recurrent_in},
    {"shortconv.out_proj", Role::recurrent_out},
    {"inp_gate", Role::per_layer_projection},
    {"proj", Role::per_layer_projection},
    {"nextn.eh_proj", Role::mtp_projection},
    {"nextn.embed_tokens", Role::token_embedding},
    {"nextn.shared_head_head", Role::output_head},
    {"layer_output_scale", Role::norm},
};

constexpr Row kModelNames[] = {
    {"token_embd", Role::token_embedding},
    {"position_embd", Role::position_embedding},
    {"token_types", Role::type_embedding},
    {"output", Role::output_head},
    {"output.bias", Role::output_head_bias},
    {"per_layer_token_embd", Role::per_layer_embedding},
    {"per_layer_model_proj", Role::per_layer_projection},
};

template <size_t N>
const Row* find(const Row (&rows)[N], std::string_view name) {
  for (const Row& row : rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace

GgufName split_gguf_name(std::string_view name) {
  constexpr std::string_view kBlock = "blk.";
  GgufName split{-1, name};
  if (!starts_with(name, kBlock)) return split;
  const size_t dot = name.find('.', kBlock.size());
  if (dot == std::string_view::npos) return split;
  const auto layer = parse_integer(name.substr(kBlock.size(), dot - kBlock.size()));
  if (!layer || *layer < 0 || *layer > 1'000'000) return split;
  return {int32_t(*layer), name.substr(dot + 1)};
}

Role gguf_role(const GgufName& name) {
  std::string_view base = name.rest;
  if (name.layer < 0 && (starts_with(base, "v.") || starts_with(base, "a."))) return Role::tower;
  if (name.layer < 0 && starts_with(base, "mm.")) return Role::projector;
  if (ends_with(base, ".weight")) base.remove_suffix(sizeof(".weight") - 1);
  const Row* row = name.layer < 0 ? find(kModelNames, base) : find(kLayerNames, base);
  if (row != nullptr) return row->role;
  if (starts_with(base, "indexer.")) return Role::indexer;
  if (starts_with(base, "time_mix_") || starts_with(base, "channel_mix_")) {
    return Role::recurrent_parameter;
  }
  if (contains(base, "_norm") || ends_with(base, "norm") || contains(base, "norm.")) {
    return Role::norm;
  }
  if (starts_with(base, "altup_") || starts_with(base, "laurel_")) {
    return Role::per_layer_projection;
  }
  return Role::other;
}

bool is_gguf_buffer(std::string_view rest) {
  return starts_with(rest, "rope_freqs") || starts_with(rest, "rope_factors") ||
         starts_with(rest, "exp_probs_b") || starts_with(rest, "ffn_gate_tid2eid") ||
         ends_with(rest, ".scale") || ends_with(rest, ".input_scale") ||
         starts_with(rest, "layer_output_scale");
}

}  // namespace vramwise::model
