// What llama.cpp hard-wires per architecture and no key of a file says: which layers slide, which
// share their cache, what is scaled. Data, one row an architecture.
#pragma once

#include <cstdint>
#include <string_view>

namespace vramwise::model {

enum class GgufWindow {
  none,      // never slides, whatever the keys say
  if_given,  // the window key decides; without it nothing slides
  fallback,  // without the key the row's window is used
};

struct GgufArchitecture {
  std::string_view name;
  GgufWindow window = GgufWindow::none;
  int64_t fallback_window = 0;
  int64_t period = 0;            // layer i slides unless i mod period = period - 1; 0: all slide
  bool dense_first = false;      // layer i slides unless i mod period = 0
  bool chunked = false;          // the window is a chunk (Llama 4)
  int64_t only_layers = 0;       // the window rule holds for models of this many layers only
  int64_t own_cache_layers = 0;  // layers from here on read an earlier one's cache; 0: none
  bool symmetric = false;        // encoder: no cache
  bool embedding_scaled = false;
  bool query_scaled = false;          // q is scaled in the graph, not by the attention operation
  bool latent_per_head = false;       // latent attention whose cache is ordinary K and V
  bool rope_on_sliding_only = false;  // full layers have no rotary (Cohere 2, EXAONE 4, …)
};

// nullptr for an architecture that is not known here.
const GgufArchitecture* gguf_architecture(std::string_view name);

}  // namespace vramwise::model
