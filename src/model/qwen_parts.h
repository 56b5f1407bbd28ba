// What the Qwen families share: which layers slide, which are experts, and their experts' tensors.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "model/llama_like.h"

namespace vramwise::model {

// use_sliding_window turns the window on for layers from max_window_layers on; the number alone
// means nothing. layer_types, where given, decides.
std::function<void(int64_t, AttentionBlock&)> qwen_windows(const Builder& b);

// Which layers are experts: not in mlp_only_layers, and every decoder_sparse_step-th.
std::vector<bool> qwen_sparse_layers(const Fields& text, int64_t layers);

// The experts of a layer; `shared` adds the shared expert with its gate where the config has one.
MoeFeedForward qwen_experts(const Fields& text, bool shared);

// What the hybrids of gated delta nets and gated attention share (Qwen3-Next, 3.5, 3.8).
struct HybridParts {
  AttentionBlock attention;
  GatedDeltaSpec delta;
  std::vector<bool> sparse;  // layers with experts
  bool experts = false;
};
// `fused`: the delta net's projections are stored as two matrices (Qwen3-Next), else as four.
HybridParts read_hybrid_parts(const Fields& text, bool fused, std::optional<DType> state_dtype);
void add_hybrid_feed_forward(Builder& b, bool experts);

}  // namespace vramwise::model
