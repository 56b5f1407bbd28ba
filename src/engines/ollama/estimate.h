// How many layers Ollama's estimate puts on which GPU (0.1.33 to 0.12.10 for llama.cpp's engine).
// Source: ollama/ollama llm/memory.go, EstimateGPULayers.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/ollama/releases.h"

namespace vramwise::engines::ollama {

// A GPU as the estimate sees it, in bytes.
struct EstimateGpu {
  int64_t free = 0;
  int64_t minimum = 0;  // set aside for the driver
};

// Sizes in bytes.
struct EstimateModel {
  std::vector<int64_t> layers;  // weights of every layer
  std::vector<int64_t> caches;  // of every layer
  int64_t buffer_layer = 0;     // weights of the layer that is kept free as a reserve
  int64_t output = 0;           // output norm and matrix, or the embedding that serves as one
  int64_t graph_partial = 0, graph_full = 0;
  int64_t first_gpu = 0;      // a projector of its own file, on the first GPU
  int64_t beside_output = 0;  // a tower inside of the file, and its graph
  int64_t overhead = 0;       // OLLAMA_GPU_OVERHEAD
  int64_t requested = -1;     // num_gpu; -1: as many as fit
};

struct Estimate {
  int64_t layers = 0;              // offloaded, the output counted as one
  std::vector<int64_t> split;      // of each GPU
  std::vector<int64_t> allocated;  // bytes of each GPU
  int64_t required = 0;            // "memory.required.full"
  int64_t on_gpus = 0;             // "memory.required.partial"
  int64_t graph_full = 0, graph_partial = 0;
};

// `gpus` in the order in which they are handed to the program. `metal`: no partial graphs.
Estimate estimate_layers(const EstimateModel& model, const std::vector<EstimateGpu>& gpus,
                         bool metal, const Release& release);

}  // namespace vramwise::engines::ollama
