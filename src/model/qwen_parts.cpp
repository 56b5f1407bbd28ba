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

}  // namespace vramwise::model
