// What the families with multi-head latent attention share.
#pragma once

#include <string>

#include "model/builder.h"

namespace vramwise::model {

// Ranks and widths of the latent attention. num_key_value_heads says nothing about it.
LatentBlock read_latent(const Fields& text);
// As above, with the sparse-attention indexer.
LatentBlock read_sparse_latent(const Fields& text);

// One table of the rotated part, in fp32 as vLLM keeps it for latent attention.
void add_latent_rope(Builder& b, int64_t rope_dim);

struct DeepseekLike {
  std::string prefix;             // before "model.layers." and "lm_head"
  bool correction_bias = true;    // sigmoid router with a selection bias (V3 and kin)
  bool sparse_attention = false;  // indexer (V3.2, GLM-5)
  bool mtp_copies = true;         // MTP layers store the embedding and the head again
  int64_t dense_layers = 0;       // class default of first_k_dense_replace
};
// Layers, MTP layers, embedding and head.
void add_deepseek_like(Builder& b, const DeepseekLike& options);

}  // namespace vramwise::model
