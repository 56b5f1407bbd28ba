// Files whose converter kept queries, keys and values in one matrix.
#pragma once

#include "weights/gguf_model.h"

namespace vramwise::weights {

// Puts attn_q, attn_k and attn_v of each layer into one attn_qkv, and their biases into its bias.
// The one takes the place of attn_q; layers without all three stay as they are.
void fuse_attention(GgufModel& gguf);

}  // namespace vramwise::weights
