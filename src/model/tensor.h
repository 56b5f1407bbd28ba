// A tensor of a model: its name, shape and what it is for. Roles, not names, decide how engines
// split, quantise and place it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/checked.h"
#include "base/dtype.h"

namespace vramwise::model {

// What a tensor does. The comment gives the usual name; shapes are [out, in] as nn.Linear stores
// them unless said.
enum class Role {
  token_embedding,     // embed_tokens [vocab, hidden]
  position_embedding,  // wpe, embed_positions
  type_embedding,      // token_type_embeddings (BERT)
  output_head,         // lm_head [vocab, hidden]
  output_head_bias,
  norm,  // any norm weight or bias, layer scalars
  // attention
  query,
  key,
  value,
  fused_qkv,
  attention_output,
  query_bias,
  key_bias,
  value_bias,
  fused_qkv_bias,
  attention_output_bias,
  query_norm,
  key_norm,
  attention_gate,   // per-head or per-channel output gate as its own matrix (step3, kimi_k3)
  attention_sinks,  // [query_heads]
  // latent attention (MLA)
  query_down,
  query_down_bias,
  query_up,
  kv_down,
  kv_down_bias,
  kv_up,
  indexer,     // any tensor of a sparse-attention indexer
  compressor,  // DeepSeek-V4 compressors
  // dense feed-forward
  ffn_gate,
  ffn_up,
  ffn_down,
  ffn_fused_gate_up,
  ffn_gate_bias,
  ffn_up_bias,
  ffn_down_bias,
  ffn_fused_gate_up_bias,
  // mixture of experts; routed expert tensors have `copies` = experts, or a leading expert extent
  router,
  router_bias,
  router_correction_bias,
  expert_gate,
  expert_up,
  expert_down,
  expert_fused_gate_up,
  expert_gate_bias,
  expert_up_bias,
  expert_down_bias,
  expert_fused_gate_up_bias,
  shared_expert_gate,
  shared_expert_up,
  shared_expert_down,
  shared_expert_fused_gate_up,
  shared_expert_router,  // [1, hidden] sigmoid gate of Qwen's shared expert
  expert_latent_down,
  expert_latent_up,  // latent MoE (Nemotron Super/Ultra, Kimi K3)
  // recurrent mixers
  recurrent_in,        // input projections (in_proj, in_proj_qkvz, in_proj_qkv, in_proj_z)
  recurrent_in_small,  // narrow input projections kept unquantised (in_proj_ba, b_proj, f_a_proj …)
  recurrent_conv,      // conv1d
  recurrent_conv_bias,
  recurrent_parameter,  // A_log, D, dt_bias, decay vectors
  recurrent_norm,
  recurrent_projection,  // x_proj, dt_proj
  recurrent_out,         // out_proj
  // others
  per_layer_embedding,  // Gemma 3n/4 table
  ngram_embedding,      // hashed n-gram table, a few rows of it read per token
  per_layer_projection,
  hash_table,  // tid2eid
  hyper_connection,
  residual_scale,
  tower,  // anything inside a vision or audio tower
  projector,
  mtp_projection,  // eh_proj and kin
  other,
};

// Which part of the checkpoint a tensor belongs to.
enum class Part {
  text,
  head,       // output head that is a parameter of its own
  tied_head,  // output head sharing the embedding: no parameter of its own
  mtp,        // multi-token-prediction layers: in the checkpoint, loaded only when used
  vision,
  audio,
  projector,
  buffer,         // stored, not trained (correction biases, tid2eid, layer scalars of Gemma 4)
  stored_unused,  // in the checkpoint, created by no module
};

struct Shape {
  std::array<int64_t, 4> extent = {1, 1, 1, 1};  // as stored, outermost first
  int rank = 0;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<int64_t> extents) {
    for (const int64_t e : extents) {
      if (rank < 4) extent[size_t(rank++)] = e;
    }
  }
  constexpr int64_t operator[](int i) const { return extent[size_t(i)]; }
  constexpr int64_t elements() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i) n = saturating_multiply(n, extent[size_t(i)]);
    return n;
  }
  friend constexpr bool operator==(const Shape&, const Shape&) = default;
};

struct Tensor {
  std::string name;  // checkpoint name; "{e}" stands for `copies` expert indices
  Shape shape;       // of one copy, logical (unquantised)
  int64_t copies = 1;
  Role role = Role::other;
  Part part = Part::text;
  int32_t layer = -1;  // trunk layer index; MTP layers count on from the trunk's end; -1 = none
  std::optional<DType> dtype;  // stored type when it is not the model's (fp32 correction bias …)

  int64_t elements() const { return saturating_multiply(shape.elements(), copies); }
};

}  // namespace vramwise::model
