// What changed from build to build. The dates are data (catalog/engines/llamacpp.json); the code
// asks for the rule by name.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "json/value.h"

namespace vramwise::engines::llamacpp {

struct Rules {
  int build = 0;
  // graphs
  bool fused_glu = true;           // gate and up combined by one op
  bool cache_index_inputs = true;  // caches written by index; before: by copy
  bool value_before_key = true;    // order in which q, k, v enter the graph
  bool mask_rows_exact = true;     // before: padded to 64
  bool embeddings_leaf = true;     // an input for embeddings, used or not
  bool rotates_quantised_cache = true;
  bool mask_half = true;             // before: an F32 input, cast on the device
  bool late_row_selection = true;    // some families pick the output rows after the last norm
  bool suppresses_in_graph = false;  // tokens that must not be sampled; since: by the sampler
  bool delta_one_token = true;       // gated delta rule as one op: one token, many tokens
  bool delta_many_tokens = true;
  bool latent_keys = true;  // files of latent attention keep kv_b in two halves
  // contexts
  bool encoders_cache_nothing = true;  // before: caches that an encoder never reads
  bool drafting_layers_cached = true;  // MTP layers that only lie in the file have caches
  bool rows_follow_tool = true;        // the server reserves one logit row a sequence
  int cell_padding_flash = 256;        // cells of a stream are a multiple of this
  int cell_padding_plain = 256;
  // defaults of the tools
  bool flash_auto = true;             // before: off
  bool auto_slots = true;             // the server: four slots that share cells
  bool fits_by_default = true;        // --fit
  bool fit_counts_projector = true;   // --fit leaves room for it; before: it came on top
  bool all_layers_by_default = true;  // -ngl; before: none, except on Metal
  int64_t default_ctx = 0;            // 0 = the trained context
  // placement
  bool output_layer_first = true;  // -ngl 1 is the output layer
  bool row_split_refused = true;   // -sm row on devices without split buffers; before: as layer
  // backends
  bool cuda_copies_in_buffer = true;  // f16 copies of K and V are part of the op
  bool vulkan_reorders = true;
  bool vulkan_events = true;
  bool splits_large_buffers = true;  // by the backend's largest buffer; before: one buffer, whole
  bool metal_extras = true;          // extra bytes, reordering and op offload on Metal
};

// Rules of one build out of the engine's profile ("rules": {"fused_glu": 5776, …}: the first build
// with each). build 0 = the newest.
Result<Rules> rules_for(const json::Value& profile, int build);

}  // namespace vramwise::engines::llamacpp
