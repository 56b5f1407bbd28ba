// The plain decoder that most families vary: attention with keys and values per head, an MLP or
// experts, two or four norms, an embedding and a head.
#pragma once

#include <functional>
#include <string>

#include "model/builder.h"

namespace vramwise::model {

enum class NormPlan { pre, sandwich, post, parallel };

struct LlamaLike {
  HeadDefaults heads;
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  QkNorm qk_norm = QkNorm::none;
  NormPlan norms = NormPlan::pre;
  NormKind norm_kind = NormKind::rms;
  bool gated = true;   // else up and down only
  bool fused = false;  // qkv_proj and gate_up_proj as single matrices
  bool rope_table = true;
  double rotary_share = 1;  // class default of partial_rotary_factor
  // What differs from layer to layer; may be empty.
  std::function<void(int64_t layer, AttentionBlock& block)> attention;
  // Adds the layer's feed-forward and answers true, or false for the dense MLP.
  std::function<bool(int64_t layer)> feed_forward;
  std::string stem = "model.";  // before the layers, the embedding and the last norm
  std::string layer_list = "layers.";
  std::string head = "lm_head";
  bool head_bias = false;
  AttentionNames attention_names;
  MlpNames mlp_names;
  std::string_view attention_norm = "input_layernorm";
  std::string_view ffn_norm = "post_attention_layernorm";
  std::string_view embedding = "embed_tokens";
  std::string_view final_norm = "norm";
};

// Adds all layers, the embedding, the last norm and the head; answers the heads it read.
Heads add_llama_like(Builder& builder, const LlamaLike& options);

// The sliding_window of families that slide on every layer: 0 for none. An absent key means
// `class_default`, null means none, and a window that covers the whole context is none.
int64_t uniform_window(const Builder& builder, int64_t class_default);

}  // namespace vramwise::model
