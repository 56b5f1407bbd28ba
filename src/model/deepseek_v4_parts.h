// What DeepSeek V4 and V4.1 share: one vector of a token serves as key and value, the output is
// projected by groups, several residual streams are mixed around each half of a layer.
// Source: deepseek-ai/DeepSeek-V4-Flash and DeepSeek-V4.1-Flash inference/model.py (names).
#pragma once

#include <string_view>

#include "model/builder.h"

namespace vramwise::model {

struct SharedKeyShape {
  int64_t heads = 1, head_dim = 1, q_rank = 1, groups = 1, o_rank = 1, streams = 1, window = 1;
  int64_t index_heads = 1, index_dim = 1, index_top_k = 1;
};

SharedKeyShape read_shared_key_shape(const Fields& text, int64_t index_heads);

// Projections, sinks, structure and the window that every layer keeps.
void add_shared_key_attention(Builder& b, const SharedKeyShape& s);

MoeFeedForward read_v4_experts(const Fields& text);
void add_v4_experts(Builder& b, const MoeFeedForward& moe);

// Mixes `streams` residual streams; `name` is what stands before fn, base and scale.
void add_stream_mixer(Builder& b, std::string_view name, int64_t streams);
// Those of a layer: hc_attn_ and hc_ffn_.
void add_stream_mixers(Builder& b, int64_t streams);

}  // namespace vramwise::model
