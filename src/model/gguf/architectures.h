// What llama.cpp hard-wires per architecture and no key of a file says: which layers slide, which
// share their cache, what is scaled. Data, one row an architecture.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/layer.h"

namespace vramwise::model {

enum class GgufWindow {
  none,      // never slides, whatever the keys say
  if_given,  // the window key decides; without it nothing slides
  fallback,  // without the key the row's window is used
};

// Which layers turn their queries and keys.
enum class GgufRope {
  every,
  none,          // other positions, or none at all
  sliding_only,  // where there is a window: full layers have none
  three_of_four,
};

// Whether the weights of the chosen experts are made to add up to one.
enum class GgufNormalise { always, never, by_key };

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
  bool query_scaled = false;     // q is scaled in the graph, not by the attention operation
  bool latent_per_head = false;  // latent attention whose cache is ordinary K and V
  GgufRope rope = GgufRope::every;
  bool weightless_qk_norm = false;  // turned layers normalise q and k without weights (Llama 4)
  GgufNormalise normalise = GgufNormalise::always;
  RouterGating gating = RouterGating::softmax;  // where no key says
  bool weights_before = false;                  // experts' inputs are weighted, not their outputs
};

// nullptr for an architecture that is not known here.
const GgufArchitecture* gguf_architecture(std::string_view name);

}  // namespace vramwise::model
