// What one layer keeps between tokens. The memory of a sequence is arithmetic over these; whether a
// layer came from Gemma or Qwen is never asked.
//
// Unit of every count: elements (or heads, tokens) of one sequence, before any parallel split.
// Source: docs/architecture.md "Caches"; transformers' cache classes and the engines' own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/dtype.h"
#include "base/units.h"

namespace vramwise::model {

// K and V of every token. Elements per token: kv_heads * (key_dim + value_dim).
struct FullAttention {
  int64_t kv_heads, key_dim, value_dim;
  bool operator==(const FullAttention&) const = default;
};
// K and V of the last `window` tokens.
struct SlidingWindow {
  int64_t kv_heads, key_dim, value_dim, window;
  bool operator==(const SlidingWindow&) const = default;
};
// K and V of the current block of `chunk` tokens (Llama 4).
struct ChunkedLocal {
  int64_t kv_heads, key_dim, value_dim, chunk;
  bool operator==(const ChunkedLocal&) const = default;
};
// Multi-head latent attention: one compressed vector per token, whatever the number of heads.
struct LatentAttention {
  int64_t kv_lora_rank, rope_dim;
  bool operator==(const LatentAttention&) const = default;
};
// Keys of a sparse-attention indexer, kept beside the layer's own cache: one vector of key_dim per
// `tokens_per_entry` tokens.
struct IndexerKeys {
  int64_t key_dim;
  int64_t tokens_per_entry = 1;
  bool operator==(const IndexerKeys&) const = default;
};
// DeepSeek-V4: one vector of head_dim per `ratio` tokens, and fp32 buffers of the unfinished block.
// (The layer's own sliding window stands beside it as SharedKeyWindow.)
struct CompressedAttention {
  int64_t head_dim, ratio, state_elements;
  bool operator==(const CompressedAttention&) const = default;
};
// A sliding window that keeps one vector of head_dim per token, serving as K and V (DeepSeek-V4).
struct SharedKeyWindow {
  int64_t head_dim, window;
  bool operator==(const SharedKeyWindow&) const = default;
};
// Constant-size states. conv_kernel is the kernel width; the state holds conv_kernel - 1 columns.
struct Mamba1State {
  int64_t inner, state, conv_kernel;
  std::optional<DType> state_dtype;  // demanded by the model's config; empty: the engine decides
  bool operator==(const Mamba1State&) const = default;
};
struct Mamba2State {
  int64_t heads, head_dim, groups, state, conv_kernel;
  std::optional<DType> state_dtype;
  bool operator==(const Mamba2State&) const = default;
};
// Gated delta net (Qwen3-Next, Qwen3.5).
struct GatedDeltaState {
  int64_t key_heads, value_heads, key_dim, value_dim, conv_kernel;
  std::optional<DType> state_dtype;
  bool operator==(const GatedDeltaState&) const = default;
};
// Kimi delta attention: three convolutions and a square state per head.
struct KimiDeltaState {
  int64_t heads, head_dim, conv_kernel;
  bool operator==(const KimiDeltaState&) const = default;
};
// Lightning / linear attention: a square state per head.
struct LightningState {
  int64_t heads, head_dim;
  bool operator==(const LightningState&) const = default;
};
// Short convolution of LFM2.
struct ShortConvState {
  int64_t channels, conv_kernel;
  bool operator==(const ShortConvState&) const = default;
};
// RWKV: `shifts` vectors of hidden_size and a square state per head.
struct RwkvState {
  int64_t hidden_size, heads, head_dim, shifts;
  bool operator==(const RwkvState&) const = default;
};
// K and V of an encoder's output, fixed once the prompt is read.
struct CrossAttention {
  int64_t kv_heads, head_dim, encoder_tokens;
  bool operator==(const CrossAttention&) const = default;
};
// Reads the cache of an earlier layer; owns none.
struct SharedCache {
  int64_t layer;
  bool operator==(const SharedCache&) const = default;
};

using CacheLayout = std::variant<FullAttention, SlidingWindow, ChunkedLocal, LatentAttention,
                                 IndexerKeys, CompressedAttention, SharedKeyWindow, Mamba1State,
                                 Mamba2State, GatedDeltaState, KimiDeltaState, LightningState,
                                 ShortConvState, RwkvState, CrossAttention, SharedCache>;

// Elements that grow with each token at long context (0 for windows and states), as a fraction
// elements / per_tokens for compressed caches.
struct TokenRate {
  int64_t elements = 0;
  int64_t per_tokens = 1;
};
TokenRate growing_elements(const CacheLayout& layout);

// Element sizes used where no engine is asked ("what does this model need in itself").
struct CacheTypes {
  DType attention = DType::bfloat16;
  DType conv = DType::bfloat16;      // convolution columns
  DType recurrent = DType::float32;  // state matrices
};
// Bytes of one sequence of `tokens` tokens in this layer. A window keeps min(tokens, window).
Bytes bytes_at(const CacheLayout& layout, Tokens tokens, const CacheTypes& types);
// The part that does not depend on the tokens (states, cross attention).
Bytes fixed_bytes(const CacheLayout& layout, const CacheTypes& types);
// A window or chunk once it is full; 0 for everything else. What a sequence keeps at any length
// past every window is fixed_bytes + window_bytes, and growing_elements for each token.
Bytes window_bytes(const CacheLayout& layout, const CacheTypes& types);

bool is_recurrent(const CacheLayout& layout);
// "full", "sliding 1024", "latent 512+64", ... for people.
std::string describe(const CacheLayout& layout);

}  // namespace vramwise::model
