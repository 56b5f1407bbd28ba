#include "weights/gguf_name_tables.h"

#include "base/text.h"

namespace vramwise::weights {
namespace {

using model::Role;

// The end of a checkpoint name, behind the layer, and what the GGUF calls it. Longest end first
// where one contains another. Only names that their role does not settle stand here.
// Source: ggml-org/llama.cpp gguf-py/gguf/tensor_mapping.py.
constexpr NamePair kLayerEnds[] = {
    // latent attention and sparse indexers
    {"indexer.wq_b.weight", "indexer.attn_q_b.weight"},
    {"indexer.wk.weight", "indexer.attn_k.weight"},
    {"indexer.k_norm.weight", "indexer.k_norm.weight"},
    {"indexer.k_norm.bias", "indexer.k_norm.bias"},
    {"indexer.weights_proj.weight", "indexer.proj.weight"},
    {"index_q_proj.weight", "indexer.q_proj.weight"},
    {"index_k_proj.weight", "indexer.k_proj.weight"},
    {"index_q_norm.weight", "indexer.q_norm.weight"},
    {"index_k_norm.weight", "indexer.k_norm.weight"},
    {"q_a_layernorm.weight", "attn_q_a_norm.weight"},
    {"kv_a_layernorm.weight", "attn_kv_a_norm.weight"},
    // Kimi delta attention; its q, k and v count as attention to the quantiser
    {"q_conv1d.weight", "ssm_conv1d_q.weight"},
    {"k_conv1d.weight", "ssm_conv1d_k.weight"},
    {"v_conv1d.weight", "ssm_conv1d_v.weight"},
    {"f_a_proj.weight", "ssm_f_a.weight"},
    {"f_b_proj.weight", "ssm_f_b.weight"},
    {"g_a_proj.weight", "ssm_g_a.weight"},
    {"g_b_proj.weight", "ssm_g_b.weight"},
    {".b_proj.weight", "ssm_beta.weight"},
    {"o_norm.weight", "ssm_norm.weight"},
    {"self_attn.q_proj.weight", "attn_q.weight"},
    {"self_attn.k_proj.weight", "attn_k.weight"},
    {"self_attn.v_proj.weight", "attn_v.weight"},
    {"self_attn.o_proj.weight", "attn_output.weight"},
    // gated delta nets
    {"in_proj_qkv.weight", "attn_qkv.weight"},
    {"in_proj_z.weight", "attn_gate.weight"},
    {"in_proj_ba.weight", "ssm_ba.weight"},
    {"in_proj_b.weight", "ssm_beta.weight"},
    {"in_proj_a.weight", "ssm_alpha.weight"},
    // short convolutions (LFM2)
    {"conv.in_proj.weight", "shortconv.in_proj.weight"},
    {"conv.in_proj.bias", "shortconv.in_proj.bias"},
    {"conv.out_proj.weight", "shortconv.out_proj.weight"},
    {"conv.out_proj.bias", "shortconv.out_proj.bias"},
    {"conv.conv.weight", "shortconv.conv.weight"},
    {"conv.conv.bias", "shortconv.conv.bias"},
    // Mamba
    {"conv1d.weight", "ssm_conv1d.weight"},
    {"conv1d.bias", "ssm_conv1d.bias"},
    {"in_proj.weight", "ssm_in.weight"},
    {"in_proj.bias", "ssm_in.bias"},
    {"out_proj.bias", "ssm_out.bias"},
    {"x_proj.weight", "ssm_x.weight"},
    {"dt_proj.weight", "ssm_dt.weight"},
    {"dt_proj.bias", "ssm_dt.bias"},
    {"dt_bias", "ssm_dt.bias"},
    {"dt_layernorm.weight", "ssm_dt_norm.weight"},
    {"b_layernorm.weight", "ssm_b_norm.weight"},
    {"c_layernorm.weight", "ssm_c_norm.weight"},
    {"A_log", "ssm_a"},
    {".D", "ssm_d"},
    // Gemma 3n and 4
    {"laurel.linear_left.weight", "laurel_l.weight"},
    {"laurel.linear_right.weight", "laurel_r.weight"},
    {"post_laurel_norm.weight", "laurel_post_norm.weight"},
    {"altup.correct_output_scale", "altup_correct_scale.weight"},
    {"altup.correction_coefs.weight", "altup_correct_coef.weight"},
    {"altup.prediction_coefs.weight", "altup_predict_coef.weight"},
    {"altup.modality_router.weight", "altup_router.weight"},
    {"altup.router_norm.weight", "altup_router_norm.weight"},
    {"per_layer_input_gate.weight", "inp_gate.weight"},
    {"per_layer_projection.weight", "proj.weight"},
    {"post_per_layer_input_norm.weight", "post_norm.weight"},
    {"post_feedforward_layernorm_1.weight", "post_ffw_norm_1.weight"},
    {"post_feedforward_layernorm_2.weight", "post_ffw_norm_2.weight"},
    {"pre_feedforward_layernorm_2.weight", "pre_ffw_norm_2.weight"},
    {"router.per_expert_scale", "ffn_down_exps.scale"},
    {"router.scale", "ffn_gate_inp.scale"},
    {"layer_scalar", "layer_output_scale.weight"},
    // multi-token prediction
    {"eh_proj.weight", "nextn.eh_proj.weight"},
    {"enorm.weight", "nextn.enorm.weight"},
    {"hnorm.weight", "nextn.hnorm.weight"},
    {"shared_head.norm.weight", "nextn.shared_head_norm.weight"},
    {"final_layernorm.weight", "nextn.shared_head_norm.weight"},
    {"mtp.fc.weight", "nextn.eh_proj.weight"},
    {"mtp.norm.weight", "nextn.shared_head_norm.weight"},
    {"pre_fc_norm_embedding.weight", "nextn.enorm.weight"},
    {"pre_fc_norm_hidden.weight", "nextn.hnorm.weight"},
};

// Norms by the end of their module's name.
constexpr NamePair kLayerNorms[] = {
    {"post_self_attn_layernorm", "post_attention_norm"},
    {"post_feedforward_layernorm", "post_ffw_norm"},
    {"post_mlp_layernorm", "post_ffw_norm"},
    {"pre_feedforward_layernorm", "ffn_norm"},
    {"feedforward_layernorm", "ffn_norm"},
    {"pre_ff_layernorm", "ffn_norm"},
    {"ffn_norm", "ffn_norm"},
    {"final_layer_norm", "ffn_norm"},  // OPT: a layer's second norm
    {"ln_2", "ffn_norm"},
    {"norm_2", "ffn_norm"},
    {"attention.output.LayerNorm", "attn_output_norm"},
    {"output.LayerNorm", "layer_output_norm"},
    {"self_attn_layer_norm", "attn_norm"},
    {"attention_layernorm", "attn_norm"},
    {"input_layernorm", "attn_norm"},
    {"attention_norm", "attn_norm"},
    {"operator_norm", "attn_norm"},
    {"attn_norm", "attn_norm"},
    {"ln_attn", "attn_norm_2"},
    {"ln_mlp", "attn_norm"},
    {"ln_1", "attn_norm"},
    {"norm_1", "attn_norm"},
};

constexpr NamePair kModelEnds[] = {
    {"embedding_norm.weight", "token_embd_norm.weight"},
    {"word_embeddings_layernorm.weight", "token_embd_norm.weight"},
    {"word_embeddings_layernorm.bias", "token_embd_norm.bias"},
    {"embeddings.LayerNorm.weight", "token_embd_norm.weight"},
    {"embeddings.LayerNorm.bias", "token_embd_norm.bias"},
    {"per_layer_projection_norm.weight", "per_layer_proj_norm.weight"},
    {"per_layer_model_projection.weight", "per_layer_model_proj.weight"},
    {"embed_tokens_per_layer.weight", "per_layer_token_embd.weight"},
};

}  // namespace

std::span<const NamePair> layer_names() { return kLayerEnds; }
std::span<const NamePair> layer_norm_names() { return kLayerNorms; }
std::span<const NamePair> model_names() { return kModelEnds; }

const NamePair* by_end(std::span<const NamePair> pairs, std::string_view name) {
  for (const NamePair& p : pairs) {
    if (ends_with(name, p.from)) return &p;
  }
  return nullptr;
}

std::string_view gguf_name_of(Role role) {
  switch (role) {
    case Role::token_embedding: return "token_embd.weight";
    case Role::position_embedding: return "position_embd.weight";
    case Role::type_embedding: return "token_types.weight";
    case Role::per_layer_embedding: return "per_layer_token_embd.weight";
    case Role::output_head: return "output.weight";
    case Role::output_head_bias: return "output.bias";
    case Role::query: return "attn_q.weight";
    case Role::key: return "attn_k.weight";
    case Role::value: return "attn_v.weight";
    case Role::fused_qkv: return "attn_qkv.weight";
    case Role::attention_output: return "attn_output.weight";
    case Role::query_bias: return "attn_q.bias";
    case Role::key_bias: return "attn_k.bias";
    case Role::value_bias: return "attn_v.bias";
    case Role::fused_qkv_bias: return "attn_qkv.bias";
    case Role::attention_output_bias: return "attn_output.bias";
    case Role::query_norm: return "attn_q_norm.weight";
    case Role::key_norm: return "attn_k_norm.weight";
    case Role::attention_gate: return "attn_gate.weight";
    case Role::attention_sinks: return "attn_sinks.weight";
    case Role::query_down: return "attn_q_a.weight";
    case Role::query_down_bias: return "attn_q_a.bias";
    case Role::query_up: return "attn_q_b.weight";
    case Role::kv_down: return "attn_kv_a_mqa.weight";
    case Role::kv_down_bias: return "attn_kv_a_mqa.bias";
    case Role::ffn_gate: return "ffn_gate.weight";
    case Role::ffn_up:
    case Role::ffn_fused_gate_up: return "ffn_up.weight";
    case Role::ffn_down: return "ffn_down.weight";
    case Role::ffn_gate_bias: return "ffn_gate.bias";
    case Role::ffn_up_bias:
    case Role::ffn_fused_gate_up_bias: return "ffn_up.bias";
    case Role::ffn_down_bias: return "ffn_down.bias";
    case Role::router: return "ffn_gate_inp.weight";
    case Role::router_bias: return "ffn_gate_inp.bias";
    case Role::router_correction_bias: return "exp_probs_b.bias";
    case Role::expert_gate: return "ffn_gate_exps.weight";
    case Role::expert_up: return "ffn_up_exps.weight";
    case Role::expert_down: return "ffn_down_exps.weight";
    case Role::expert_fused_gate_up: return "ffn_gate_up_exps.weight";
    case Role::expert_gate_bias: return "ffn_gate_exps.bias";
    case Role::expert_up_bias: return "ffn_up_exps.bias";
    case Role::expert_down_bias: return "ffn_down_exps.bias";
    case Role::shared_expert_gate: return "ffn_gate_shexp.weight";
    case Role::shared_expert_up: return "ffn_up_shexp.weight";
    case Role::shared_expert_down: return "ffn_down_shexp.weight";
    case Role::shared_expert_router: return "ffn_gate_inp_shexp.weight";
    case Role::expert_latent_down: return "ffn_latent_down.weight";
    case Role::expert_latent_up: return "ffn_latent_up.weight";
    case Role::recurrent_in: return "ssm_in.weight";
    case Role::recurrent_norm: return "ssm_norm.weight";
    case Role::recurrent_out: return "ssm_out.weight";
    case Role::hash_table: return "ffn_gate_tid2eid.weight";
    default: return {};
  }
}

}  // namespace vramwise::weights
