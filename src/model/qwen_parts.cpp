#include "model/qwen_parts.h"

namespace vramwise::model {

std::function<void(int64_t, AttentionBlock&)> qwen_windows(const Builder& b) {
  const Fields& text = b.text();
  const int64_t window = text.extent_or({"sliding_window"}, 4096);
  if (!text.flag({"use_sliding_window"}, false) || window == 0) return {};
  const int64_t layers = text.layers();
  const int64_t first = text.number({"max_window_layers"}, 28, 0, kMaxExtent);
  std::vector<std::string> types = text.names({"layer_types"}, layers);
  return [=](int64_t i, AttentionBlock& block) {
    const bool slides = types.empty() ? i >= first : types[size_t(i)] == "sliding_attention";
    if (slides) block.window = window;
  };
}

std::vector<bool> qwen_sparse_layers(const Fields& text, int64_t layers) {
  const int64_t step = text.divisor_or({"decoder_sparse_step"}, 1);
  const bool any = text.experts_or({"num_experts", "num_local_experts"}, 0) > 0;
  std::vector<bool> sparse(size_t(layers), false);
  for (int64_t i = 0; any && i < layers; ++i) sparse[size_t(i)] = (i + 1) % step == 0;
  for (const int64_t i : text.any_integers({"mlp_only_layers"})) {
    if (i < layers) sparse[size_t(i)] = false;
  }
  return sparse;
}

MoeFeedForward qwen_experts(const Fields& text, bool shared) {
  MoeFeedForward moe;
  moe.experts = text.required({"num_experts", "num_local_experts"}, 1, kMaxExperts);
  moe.active = text.required({"num_experts_per_tok"}, 1, kMaxExperts);
  moe.width = text.extent({"moe_intermediate_size"});
  moe.normalise_weights = text.flag({"norm_topk_prob"}, false);
  if (shared) {
    moe.shared_width = text.extent_or({"shared_expert_intermediate_size"}, 0);
    moe.shared_gate = moe.shared_width > 0;
  }
  return moe;
}

HybridParts read_hybrid_parts(const Fields& text, bool fused, std::optional<DType> state_dtype) {
  const Heads heads = read_heads(text, {.head_dim = 256});
  HybridParts parts;
  AttentionBlock& a = parts.attention;
  a.query_heads = heads.query;
  a.kv_heads = heads.kv;
  a.key_dim = a.value_dim = heads.dim;
  a.qkv_bias = a.output_bias = text.flag({"attention_bias"}, false);
  a.qk_norm = QkNorm::per_head;
  a.output_gate = text.flag({"attn_output_gate"}, true);
  parts.delta.fused = fused;
  parts.delta.state = {.key_heads = text.small({"linear_num_key_heads"}),
                       .value_heads = text.small({"linear_num_value_heads"}),
                       .key_dim = text.small({"linear_key_head_dim"}),
                       .value_dim = text.small({"linear_value_head_dim"}),
                       .conv_kernel = text.divisor_or({"linear_conv_kernel_dim"}, 4),
                       .state_dtype = state_dtype};
  parts.sparse = qwen_sparse_layers(text, text.layers());
  parts.experts = text.experts_or({"num_experts"}, 0) > 0;
  return parts;
}

void add_hybrid_feed_forward(Builder& b, bool experts) {
  if (experts) {
    MoeFeedForward moe = qwen_experts(b.text(), true);
    moe.normalise_weights = b.text().flag({"norm_topk_prob"}, true);
    b.moe(moe, {.shared = "mlp.shared_expert."});
  } else {
    b.gated_mlp(b.text().extent({"intermediate_size"}));
  }
}

}  // namespace vramwise::model
