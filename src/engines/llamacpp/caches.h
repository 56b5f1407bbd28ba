// The caches of one context: attention (full and sliding), indexer keys, recurrent states; bytes
// per layer, so that they follow their layer's device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engines/llamacpp/context.h"

namespace vramwise::engines::llamacpp {

struct LayerCache {
  int64_t full = 0;       // K and V over all cells, and indexer keys
  int64_t sliding = 0;
  int64_t recurrent = 0;
  int64_t total() const {
    return saturating_add(saturating_add(full, sliding), recurrent);
  }
};

// One entry a layer of Shape::layers.
std::vector<LayerCache> layer_caches(const Shape& shape, const ContextSettings& settings,
                                     const ContextSize& size);

// Bytes that one more token of one sequence costs at long context, all layers.
int64_t bytes_per_token(const Shape& shape, const ContextSettings& settings);

// The program's own message when these caches cannot be made; empty when they can.
// Source: llama.cpp src/llama-context.cpp, llama_init_from_model.
std::string cache_refusal(const Shape& shape, const ContextSettings& settings);

}  // namespace vramwise::engines::llamacpp
