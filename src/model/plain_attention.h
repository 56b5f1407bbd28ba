// The attention that most families have: heads as the config gives them, values as wide as keys,
// every token seen. What a family does otherwise is set on the answer.
#pragma once

#include "model/config_fields.h"
#include "model/layer.h"

namespace vramwise::model {

inline AttentionBlock plain_attention(const Heads& heads) {
  AttentionBlock block;
  block.query_heads = heads.query;
  block.kv_heads = heads.kv;
  block.key_dim = block.value_dim = heads.dim;
  return block;
}

}  // namespace vramwise::model
