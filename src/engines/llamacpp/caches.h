// The caches of one context: attention (full and sliding), indexer keys, recurrent states; bytes
// per layer, so that they follow their layer's device.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engines/llamacpp/context.h"

namespace vramwise::engines::llamacpp {

struct LayerCache {
  int64_t full = 0;  // K and V over all cells, and indexer keys
  int64_t sliding = 0;
  int64_t recurrent = 0;
  int64_t total() const { return saturating_add(saturating_add(full, sliding), recurrent); }
};

// One entry a layer of Shape::layers.
std::vector<LayerCache> layer_caches(const Shape& shape, const ContextSettings& settings,
                                     const ContextSize& size);

// Bytes that one more token of one sequence costs in the layers of one device, at long context.
int64_t bytes_per_token(const Shape& shape, const ContextSettings& settings,
                        std::span<const int16_t> layer_device, int16_t device);

// Why these caches cannot be made; both empty when they can. The message is the program's own,
// empty where it stops without one.
// Source: llama.cpp src/llama-context.cpp, llama_init_from_model.
struct CacheRefusal {
  std::string engine_error;
  std::string explanation;
};
CacheRefusal cache_refusal(const Shape& shape, const ContextSettings& settings);

}  // namespace vramwise::engines::llamacpp
