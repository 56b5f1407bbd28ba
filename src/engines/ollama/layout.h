// Where Ollama lays the layers once it knows their sizes (its own engine since 0.11.11, llama.cpp's
// since 0.12.11, until 0.29): on as few GPUs as hold them, evenly filled.
// Source: ollama/ollama llm/server.go, createLayout, assignLayers, findBestFit, greedyFit.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace vramwise::engines::ollama {

// Bytes.
struct LayoutGpu {
  int64_t free = 0;
  int64_t minimum = 0;   // set aside for the driver
  int64_t overhead = 0;  // OLLAMA_GPU_OVERHEAD
};

// Layers of each GPU; the last layer is the output. GPU -1: the host.
struct Layout {
  std::vector<int> gpu_of_layer;
  std::vector<int> tried;  // GPUs that were reached, whether a layer fitted there or not
  // GPUs that got a layer, in the order of their first layer.
  std::vector<int> order() const;
  int64_t on_gpus() const;
  bool operator==(const Layout&) const = default;
};

struct LayoutQuestion {
  std::vector<int64_t> layers;  // weights and cache of every layer, the output last
  std::vector<LayoutGpu> gpus;  // as the machine counts them
  int64_t requested = -1;       // num_gpu; -1: as many as fit
  bool spread = false;          // OLLAMA_SCHED_SPREAD
};

// `graphs`: bytes of the graph on each GPU, 0 where none is known to run.
Layout lay_out(const LayoutQuestion& question, const std::vector<int64_t>& graphs);

// Bytes of the graph on each GPU under a layout.
using GraphsOf = std::function<std::vector<int64_t>(const Layout&)>;

// Ollama's own engine: layouts are tried until they repeat or stop shrinking.
Layout settle_layout(const LayoutQuestion& question, const GraphsOf& graphs_of);

// llama.cpp's engine: the graph is an estimate, the larger one on every GPU in use.
Layout settle_layout(const LayoutQuestion& question, int64_t graph);

}  // namespace vramwise::engines::ollama
