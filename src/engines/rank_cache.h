// What each layer of one rank keeps between tokens, in bytes: the layouts of the model, divided by
// the rank's share of heads, in the asked element type. Shared by vLLM, SGLang and TensorRT-LLM.
//
// Source: vllm v1/kv_cache_interface.py and model_executor/layers/mamba/mamba_utils.py; sglang
// mem_cache/memory_pool.py.
#pragma once

#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/units.h"
#include "model/model.h"

namespace vramwise::engines {

// Bytes of n cache elements: n * numerator / denominator.
struct ElementSize {
  int64_t numerator = 2, denominator = 1;
  constexpr int64_t bytes(int64_t elements) const {
    return saturating_multiply(elements, numerator) / denominator;
  }
  friend constexpr bool operator==(const ElementSize&, const ElementSize&) = default;
};

struct CacheRules {
  int64_t ranks = 1;                   // ranks that share the attention heads
  ElementSize element;                 // K and V, latent vectors
  int64_t bytes_per_head = 0;          // scales stored per token, head and side
  DType conv = DType::bfloat16;        // convolution columns
  DType recurrent = DType::bfloat16;   // state matrices where the model demands nothing
  bool demanded_mamba_state = true;    // honour the state type that a Mamba-2 model demands
  bool demanded_delta_state = true;    // the same for gated delta nets
  bool forced_state = false;           // the user chose `recurrent`: it wins over the model
  int64_t sparse_latent_row = 0;       // bytes of a latent row beside an indexer; 0 = elements
  int64_t compressed_rope_dim = 64;    // 16-bit part of a compressed row (DeepSeek-V4)
  int64_t compressed_scale_bytes = 8;  // scales of a compressed row
  int64_t speculative_tokens = 0;      // convolution states grow by them
  bool copies_shared = false;  // layers that read an earlier layer's attention have a pool too
};

struct LayerCache {
  enum class Kind : uint8_t {
    full,        // every token: keys and values
    latent,      // every token: one vector, the same on every rank
    indexer,     // beside a layer: one vector per `tokens_per_entry` tokens
    window,      // the last `window` tokens
    chunk,       // the current block of `window` tokens
    state,       // `state_bytes`, whatever the length
    cross,       // `window` encoder tokens
    compressed,  // one row per `tokens_per_entry` tokens, and an unfinished block
    row_window,  // a window of rows that serve as keys and values (DeepSeek-V4)
  };
  Kind kind = Kind::full;
  int32_t layer = 0;
  int64_t token_bytes = 0;  // one stored row: of a token, or of an entry
  int64_t window = 0;
  int64_t state_bytes = 0;
  int64_t tokens_per_entry = 1;

  bool is_growing() const { return kind <= Kind::indexer; }
  // Equal in what decides pages; the layer does not matter.
  bool same_shape(const LayerCache& o) const {
    return kind == o.kind && token_bytes == o.token_bytes && window == o.window &&
           state_bytes == o.state_bytes && tokens_per_entry == o.tokens_per_entry;
  }
};

// Caches of the trunk's layers, and of the first `mtp_layers` prediction layers behind them.
std::vector<LayerCache> rank_caches(const model::Model& model, const CacheRules& rules,
                                    int64_t mtp_layers);

}  // namespace vramwise::engines
