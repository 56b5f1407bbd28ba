#include "weights/gguf_names.h"

#include <span>
#include <utility>

#include "base/text.h"
#include "weights/gguf_rwkv.h"
#include "weights/matrix.h"

namespace vramwise::weights {
namespace {

using model::Part;
using model::Role;
using model::Tensor;

struct Pair {
  std::string_view from, to;
};

// The end of a checkpoint name, behind the layer, and what the GGUF calls it. Longest end first
// where one contains another. Only names that their role does not settle stand here.
// Source: ggml-org/llama.cpp gguf-py/gguf/tensor_mapping.py.
constexpr Pair kLayerEnds[] = {
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
};

// Norms by the end of their module's name.
constexpr Pair kLayerNorms[] = {
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

constexpr Pair kModelEnds[] = {
    {"embedding_norm.weight", "token_embd_norm.weight"},
    {"word_embeddings_layernorm.weight", "token_embd_norm.weight"},
    {"word_embeddings_layernorm.bias", "token_embd_norm.bias"},
    {"embeddings.LayerNorm.weight", "token_embd_norm.weight"},
    {"embeddings.LayerNorm.bias", "token_embd_norm.bias"},
    {"per_layer_projection_norm.weight", "per_layer_proj_norm.weight"},
    {"per_layer_model_projection.weight", "per_layer_model_proj.weight"},
    {"embed_tokens_per_layer.weight", "per_layer_token_embd.weight"},
};

const Pair* by_end(std::span<const Pair> pairs, std::string_view name) {
  for (const Pair& p : pairs) {
    if (ends_with(name, p.from)) return &p;
  }
  return nullptr;
}

// The GGUF name that a role alone settles, without "blk.N."; empty otherwise.
std::string_view name_of(Role role) {
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

// The checkpoint name behind "layers.3." (or all of it for tensors of no layer).
std::string_view behind_layer(const Tensor& tensor) {
  std::string_view rest = tensor.name;
  if (tensor.layer < 0) return rest;
  const std::string_view lists[] = {"layers.", "blocks.", "layer.", "h."};
  for (const std::string_view list : lists) {
    const size_t at = rest.find(list);
    if (at == std::string_view::npos) continue;
    const size_t dot = rest.find('.', at + list.size());
    if (dot != std::string_view::npos) return rest.substr(dot + 1);
  }
  return rest;
}

std::string norm_name(const model::Model& model, const Tensor& tensor, const GgufQuirks& quirks) {
  std::string_view module = behind_layer(tensor);
  std::string_view kind = ".weight";
  if (ends_with(module, ".bias")) kind = ".bias";
  if (ends_with(module, kind)) module.remove_suffix(kind.size());
  std::string_view name;
  if (tensor.layer < 0) {
    name = "output_norm";
  } else if (module == "post_attention_layernorm") {
    const model::Layer* layer = layer_of(model, tensor);
    // Behind the mixer in Gemma and OLMo 2; in front of the MLP elsewhere, whatever the name.
    const bool behind_mixer =
        layer && layer->post_attention_norm && !quirks.plain_post_attention_norm;
    name = behind_mixer || quirks.post_attention_norm ? "post_attention_norm" : "ffn_norm";
  } else if (const Pair* p = by_end(kLayerNorms, module)) {
    name = p->to;
  } else {
    name = module == "norm" ? std::string_view("attn_norm") : module;
  }
  return std::string(name) + std::string(kind);
}

// Stacks that the checkpoint stores as a numbered list: "altup_projections.0.weight".
std::string_view stack_name(const Tensor& tensor) {
  if (tensor.layer >= 0) return {};
  if (contains(tensor.name, "altup_projections.")) return "altup_proj.weight";
  if (contains(tensor.name, "altup_unembed_projections.")) return "altup_unembd_proj.weight";
  return {};
}

std::string base_name(const model::Model& model, const Tensor& tensor, const GgufQuirks& quirks) {
  const bool mtp = tensor.part == Part::mtp;
  if (mtp && tensor.role == Role::token_embedding) return "nextn.embed_tokens.weight";
  if (mtp && tensor.role == Role::output_head) return "nextn.shared_head_head.weight";
  if (const std::string_view stack = stack_name(tensor); !stack.empty()) return std::string(stack);
  const bool of_layer = tensor.layer >= 0;
  const std::span<const Pair> ends = of_layer ? std::span<const Pair>(kLayerEnds) : kModelEnds;
  const bool settled = !name_of(tensor.role).empty();
  // Recurrent mixers have few roles and many names; a bias may carry its matrix's role.
  const bool recurrent = tensor.role == Role::recurrent_in || tensor.role == Role::recurrent_norm ||
                         tensor.role == Role::recurrent_out;
  const bool bias = tensor.shape.rank < 2 && ends_with(tensor.name, ".bias");
  if (!settled || recurrent || bias) {
    if (const Pair* p = by_end(ends, tensor.name)) return std::string(p->to);
  }
  if (settled) {
    std::string name(name_of(tensor.role));
    if (bias && ends_with(name, ".weight")) name = name.substr(0, name.size() - 6) + "bias";
    return name;
  }
  if (tensor.role == Role::norm) return norm_name(model, tensor, quirks);
  return std::string(behind_layer(tensor));
}

std::array<int64_t, 4> stored_extent(const Tensor& tensor) {
  // Row-major [a, b, c] is ggml {c, b, a}. Size-1 middle axes (depthwise convolutions) go away.
  std::array<int64_t, 4> extent = {1, 1, 1, 1};
  size_t n = 0;
  for (int i = tensor.shape.rank - 1; i >= 0; --i) {
    const int64_t e = tensor.shape[i];
    if (e != 1 || (n == 0 && i == 0)) extent[n++] = e;
  }
  if (tensor.copies > 1 && n < 4) extent[n] = tensor.copies;
  return extent;
}

const model::LatentBlock* latent_of(const model::Layer* layer) {
  if (!layer) return nullptr;
  for (const model::Mixer& mixer : layer->mixers) {
    if (const auto* block = std::get_if<model::LatentBlock>(&mixer)) return block;
  }
  return nullptr;
}

const model::GatedDeltaState* delta_of(const model::Layer* layer) {
  if (!layer) return nullptr;
  for (const model::Mixer& mixer : layer->mixers) {
    const auto* block = std::get_if<model::RecurrentBlock>(&mixer);
    if (!block) continue;
    if (const auto* state = std::get_if<model::GatedDeltaState>(&block->state)) return state;
  }
  return nullptr;
}

// Gate and up as two tensors of half the outputs.
std::vector<GgufPiece> halves(std::string_view gate, std::string_view up,
                              std::array<int64_t, 4> extent, size_t axis) {
  extent[axis] /= 2;
  return {{std::string(gate), extent}, {std::string(up), extent}};
}

std::vector<GgufPiece> pieces_of(const model::Model& model, const Tensor& tensor,
                                 const GgufQuirks& quirks) {
  const model::Layer* layer = layer_of(model, tensor);
  const bool expert = is_routed_expert(tensor.role);
  std::array<int64_t, 4> extent = stored_extent(tensor);
  const auto matrix = matrix_of(model, tensor);
  if (matrix && (tensor.shape.rank == 2 || expert) && tensor.role != Role::shared_expert_router) {
    extent = {matrix->in, matrix->out, matrix->count, 1};
  }
  switch (tensor.role) {
    case Role::kv_up: {
      const model::LatentBlock* mla = latent_of(layer);
      if (!mla || quirks.keeps_kv_b) return {{"attn_kv_b.weight", extent}};
      // The halves that absorption multiplies with, one matrix a head.
      return {{"attn_k_b.weight", {mla->nope_dim, mla->kv_lora_rank, mla->query_heads, 1}},
              {"attn_v_b.weight", {mla->kv_lora_rank, mla->value_dim, mla->query_heads, 1}}};
    }
    case Role::expert_fused_gate_up:
      if (quirks.stacks_gate_up) return {{"ffn_gate_up_exps.weight", extent}};
      return halves("ffn_gate_exps.weight", "ffn_up_exps.weight", extent, 1);
    case Role::expert_fused_gate_up_bias:
      return halves("ffn_gate_exps.bias", "ffn_up_exps.bias", extent, 0);
    case Role::shared_expert_fused_gate_up:
      return halves("ffn_gate_shexp.weight", "ffn_up_shexp.weight", extent, 1);
    case Role::ffn_fused_gate_up:
      if (!quirks.splits_gate_up) break;
      return halves("ffn_gate.weight", "ffn_up.weight", extent, 1);
    case Role::recurrent_in:
      if (ends_with(tensor.name, "in_proj_qkvz.weight")) {
        if (const model::GatedDeltaState* s = delta_of(layer)) {
          const int64_t values = saturating_multiply(s->value_heads, s->value_dim);
          return {{"attn_qkv.weight", {extent[0], extent[1] - values, 1, 1}},
                  {"attn_gate.weight", {extent[0], values, 1, 1}}};
        }
      }
      break;
    case Role::recurrent_norm:
      // Mamba 2 normalises per group: {inner / groups, groups}.
      if (layer) {
        for (const model::CacheLayout& cache : layer->caches) {
          const auto* s = std::get_if<model::Mamba2State>(&cache);
          if (s && s->groups > 1 && extent[0] % s->groups == 0) {
            extent = {extent[0] / s->groups, s->groups, 1, 1};
          }
        }
      }
      break;
    default: break;
  }
  return {{base_name(model, tensor, quirks), extent}};
}

}  // namespace

int dimensions(const std::array<int64_t, 4>& extent) {
  int n = 4;
  while (n > 1 && extent[size_t(n - 1)] == 1) --n;
  return n;
}

bool stays_f32(std::string_view name, const std::array<int64_t, 4>& extent) {
  if (dimensions(extent) <= 1 || !ends_with(name, ".weight") || ends_with(name, "_norm.weight")) {
    return true;
  }
  constexpr std::string_view kParts[] = {
      "ffn_gate_inp",        "position_embd",      "token_types",  "ssm_conv1d",   "shortconv.conv",
      "altup_correct_coef",  "altup_predict_coef", "altup_router", "indexer.proj", "time_mix_first",
      "time_mix_lerp_fused", "time_mix_decay_w",   "time_mix_w1",  "time_mix_w2",  "time_mix_a1",
      "time_mix_a2",         "time_mix_v1",        "time_mix_v2",  "time_mix_g1",  "time_mix_g2"};
  for (const std::string_view part : kParts) {
    if (contains(name, part)) return true;
  }
  return false;
}

std::vector<GgufPiece> gguf_pieces(const model::Model& model, const Tensor& tensor,
                                   const GgufQuirks& quirks) {
  switch (tensor.part) {
    case Part::text:
    case Part::head: break;
    case Part::mtp:
      if (!quirks.keeps_mtp) return {};
      break;
    case Part::buffer:
      // Masks, rotary tables and the clamps of towers stay behind.
      if (tensor.role == Role::other || tensor.role == Role::tower ||
          tensor.role == Role::projector) {
        return {};
      }
      break;
    case Part::stored_unused:
      // Layers that read another's cache: their keys and values are converted all the same.
      if (tensor.role == Role::key || tensor.role == Role::value || tensor.role == Role::key_norm) {
        break;
      }
      return {};
    case Part::tied_head:
    case Part::vision:
    case Part::audio:
    case Part::projector: return {};
  }
  if (quirks.rwkv_names && tensor.layer >= 0) {
    std::vector<GgufPiece> own = rwkv_pieces(tensor);
    if (!own.empty()) return own;
  }
  std::vector<GgufPiece> pieces = pieces_of(model, tensor, quirks);
  if (tensor.layer >= 0) {
    const std::string block = "blk." + format_integer(tensor.layer) + ".";
    for (GgufPiece& piece : pieces) piece.name.insert(0, block);
  }
  if (tensor.role == Role::token_embedding && tensor.part == Part::text &&
      model.gguf.vocab_rows > 0) {
    pieces.front().extent[1] = model.gguf.vocab_rows;
  }
  return pieces;
}

}  // namespace vramwise::weights
