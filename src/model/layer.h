// The structure of one decoder layer: what it computes and what it keeps.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "model/cache_layout.h"

namespace vramwise::model {

enum class NormKind { rms, layer_norm, layer_norm_bias };
// `weightless`: applied after the rotation, no tensor (Llama 4).
enum class QkNorm { none, per_head, full_width, weightless };

// Attention with keys and values per head (MHA, GQA, MQA).
struct AttentionBlock {
  int64_t query_heads = 0, kv_heads = 0, key_dim = 0, value_dim = 0;
  int64_t window = 0;      // 0 = all tokens; else sliding window or chunk
  bool chunked = false;    // window is a chunk (Llama 4)
  bool fused_qkv = false;  // one matrix in the checkpoint
  bool qkv_bias = false, output_bias = false;
  QkNorm qk_norm = QkNorm::none;
  bool rope = true;                 // rotary on this layer
  bool sinks = false;               // learned attention sinks
  bool output_gate = false;         // query projection also yields a gate (Qwen3-Next)
  bool value_is_key = false;        // no v_proj: V is the K projection (Gemma 4)
  bool query_scaled = false;        // explicit scaling of q (Gemma, Phi-3)
  bool score_softcap = false;       // tanh cap on scores (Gemma 2)
  bool scaled_by_position = false;  // q takes a factor of its position too (Ministral 3)
  int64_t shared_with = -1;         // reads the cache of that layer and has no K and V of its own
};

// Multi-head latent attention.
struct LatentBlock {
  int64_t query_heads = 0;
  int64_t q_lora_rank = 0;  // 0: full-rank query projection
  int64_t kv_lora_rank = 0, nope_dim = 0, rope_dim = 0, value_dim = 0;
  // Sparse-attention indexer; heads = 0 when the layer has none.
  int64_t indexer_heads = 0, indexer_dim = 0, indexer_top_k = 0;
};

// Any mixer with a constant-size state; the state is its CacheLayout.
struct RecurrentBlock {
  CacheLayout state;
};

using Mixer = std::variant<AttentionBlock, LatentBlock, RecurrentBlock>;

struct NoFeedForward {};
struct DenseFeedForward {
  int64_t width = 0;
  bool gated = true;           // gate and up, else up only
  bool fused_gate_up = false;  // one matrix in the checkpoint
  bool bias = false;
};
enum class RouterGating { softmax, sigmoid, softmax_after_selection };
struct MoeFeedForward {
  int64_t experts = 0, active = 0, width = 0;
  int64_t shared_width = 0;      // width of the shared expert(s) together; 0 = none
  bool shared_gate = false;      // sigmoid gate on the shared expert (Qwen)
  bool gated = true;             // experts have gate and up
  bool biased = false;           // experts and router have biases (gpt-oss)
  bool correction_bias = false;  // selection bias (DeepSeek-V3 and kin)
  bool normalise_weights = true;
  bool scale_weights = false;
  bool weights_before = false;  // Llama 4 multiplies the input
  RouterGating gating = RouterGating::softmax;
  int64_t latent_width = 0;   // experts work on this width instead of hidden_size; 0 = hidden
  int64_t dense_width = 0;    // a dense MLP beside the experts (Gemma 4 MoE)
  int64_t expert_groups = 0;  // node-limited routing (DeepSeek); 0 = none
};
using FeedForward = std::variant<NoFeedForward, DenseFeedForward, MoeFeedForward>;

struct Layer {
  std::vector<Mixer> mixers;  // usually one; two in parallel hybrids (Falcon-H1)
  FeedForward feed_forward;
  std::vector<CacheLayout> caches;  // in the order of the mixers; empty: the layer keeps nothing
  NormKind norm = NormKind::rms;
  bool post_attention_norm = false;  // norm on the mixer's output (Gemma 2/3, GLM-4)
  bool post_ffn_norm = false;
  bool pre_attention_norm = true;  // false in OLMo 2 and EXAONE 4
  bool parallel = false;           // attention and feed-forward read the same norm (Cohere, Phi)
};

}  // namespace vramwise::model
