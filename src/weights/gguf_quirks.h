// What the GGUF files of an architecture do differently from the common naming and from the common
// mixture. One row an architecture; an architecture without a row has no quirks.
#pragma once

#include <cstdint>
#include <string_view>

namespace vramwise::weights {

struct GgufQuirks {
  std::string_view architecture;
  bool post_attention_norm = false;        // post_attention_layernorm stays post_attention_norm
  bool plain_post_attention_norm = false;  // … is the MLP's norm although the mixer has one too
  bool keeps_mtp = false;                  // the converter keeps the multi-token-prediction layers
  bool keeps_kv_b = false;         // latent attention without absorption: attn_kv_b in one piece
  bool stacks_gate_up = false;     // experts keep gate and up in one ffn_gate_up_exps
  bool splits_gate_up = false;     // a fused dense gate_up becomes ffn_gate and ffn_up
  bool long_factors = false;       // rope_factors_long and _short instead of rope_freqs
  bool kv_heads_by_layer = false;  // head_count_kv is an array; 0 on layers without attention
  bool rwkv_names = false;         // names of its own, gguf_rwkv.h
  bool fused_in_2023 = false;      // files of 2023 hold queries, keys and values in one matrix
  bool falcon_mixture = false;     // the quantiser's own rules for Falcon
  int64_t layers_of_70b = 0;       // so many layers are "70B" to the quantiser
  bool grouped_70b = false;        // … only with fewer KV heads than query heads
};

const GgufQuirks& gguf_quirks(std::string_view architecture);

}  // namespace vramwise::weights
