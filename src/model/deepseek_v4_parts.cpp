#include "model/deepseek_v4_parts.h"

#include <string>

namespace vramwise::model {

SharedKeyShape read_shared_key_shape(const Fields& text, int64_t index_heads) {
  SharedKeyShape s;
  s.heads = text.small({"num_attention_heads"});
  s.head_dim = text.divisor_or({"head_dim"}, 512);
  s.q_rank = text.extent({"q_lora_rank"});
  s.groups = text.small({"o_groups"});
  s.o_rank = text.small({"o_lora_rank"});
  s.streams = text.required({"hc_mult"}, 1, 64);
  s.window = text.extent_or({"sliding_window"}, 128);
  s.index_heads = text.small_or({"index_n_heads"}, index_heads);
  s.index_dim = text.small_or({"index_head_dim"}, 128);
  s.index_top_k = text.extent_or({"index_topk"}, 512);
  text.divide(s.heads * s.head_dim, "num_attention_heads * head_dim", s.groups, "o_groups");
  return s;
}

void add_shared_key_attention(Builder& b, const SharedKeyShape& s) {
  const int64_t h = b.hidden();
  b.linear(Role::query_down, "attn.wq_a", s.q_rank, h);
  b.weight_norm("attn.q_norm", s.q_rank);
  b.linear(Role::query_up, "attn.wq_b", s.heads * s.head_dim, s.q_rank);
  b.linear(Role::kv_down, "attn.wkv", s.head_dim, h);
  b.weight_norm("attn.kv_norm", s.head_dim);
  b.add(Role::attention_output, "attn.wo_a.weight",
        {s.groups * s.o_rank, s.heads * s.head_dim / s.groups});
  b.linear(Role::attention_output, "attn.wo_b", h, s.groups * s.o_rank);
  b.add(Role::attention_sinks, "attn.attn_sink", {s.heads}, 1, DType::float32);
  AttentionBlock block;
  block.query_heads = s.heads;
  block.kv_heads = 1;
  block.key_dim = block.value_dim = s.head_dim;
  block.window = s.window;
  block.sinks = block.value_is_key = true;
  b.layer().mixers.push_back(block);
  b.cache(SharedKeyWindow{s.head_dim, s.window});
}

MoeFeedForward read_v4_experts(const Fields& text) {
  MoeFeedForward moe;
  moe.experts = text.required({"n_routed_experts"}, 1, kMaxExperts);
  moe.active = text.required({"num_experts_per_tok"}, 1, kMaxExperts);
  moe.width = text.extent({"moe_intermediate_size"});
  moe.shared_width = moe.width * text.experts_or({"n_shared_experts"}, 1);
  moe.gating = RouterGating::sigmoid;
  moe.scale_weights = text.real({"routed_scaling_factor"}, 1, 0, 1e6) != 1;
  return moe;
}

void add_v4_experts(Builder& b, const MoeFeedForward& moe) {
  b.moe(moe, {.router = "ffn.gate",
              .correction = "ffn.gate.bias",
              .experts = "ffn.experts.{e}.",
              .gate = "w1",
              .up = "w3",
              .down = "w2",
              .shared = "ffn.shared_experts.",
              .shared_gate = "w1",
              .shared_up = "w3",
              .shared_down = "w2"});
}

void add_stream_mixer(Builder& b, std::string_view name, int64_t streams) {
  const int64_t mixes = (2 + streams) * streams;
  const std::string stem(name);
  b.add(Role::hyper_connection, stem + "fn", {mixes, streams * b.hidden()}, 1, DType::float32);
  b.add(Role::hyper_connection, stem + "base", {mixes}, 1, DType::float32);
  b.add(Role::hyper_connection, stem + "scale", {3}, 1, DType::float32);
}

void add_stream_mixers(Builder& b, int64_t streams) {
  add_stream_mixer(b, "hc_attn_", streams);
  add_stream_mixer(b, "hc_ffn_", streams);
}

}  // namespace vramwise::model
