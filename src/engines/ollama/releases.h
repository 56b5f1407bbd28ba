// What one release of Ollama does, out of the profile (catalog/engines/ollama.json, "releases").
// Until 0.30 Ollama decided itself how many layers go to the GPUs: first by closed formulas, later
// by layouts over what a trial load reports. Since then llama.cpp's server runs as a child.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engines/options.h"
#include "json/value.h"
#include "model/model.h"

namespace vramwise::engines::ollama {

// How the graph of an architecture without a closed formula follows its cache.
enum class CacheGraph { none, doubled, equal, partial_only };

// What a release knows of one architecture.
struct ArchitectureRule {
  std::string name;          // Ollama's own
  std::string formula;       // the formula of its graphs; empty: by its cache
  bool own_engine = false;   // runs in Ollama's engine, not in llama.cpp
  bool flash = false;        // flash attention unless turned off
  bool one_request = false;  // whatever the parallel setting says
  bool windows_counted = false;
  int64_t window = 0;        // tokens that windowed layers keep instead of the model's own window
  int64_t global_every = 1;  // every n-th layer sees all tokens
  int64_t smallest_context = 0;      // where nothing less was asked for
  int64_t smallest_context_gib = 0;  // of GPU memory that it takes
  int64_t tokens = 0;                // of the tokenizer, where fewer than the embedding's rows
  int64_t tower_patches = 0;         // of the largest image; 0: by the model's tower
  int64_t tower_images = 1;          // copies of its pixels that the graph keeps
  bool quantised_cache = true;
  CacheGraph cache_graph = CacheGraph::none;
};

struct Release {
  bool known = true;            // older ones are taken as the oldest that is
  bool child_server = true;     // llama.cpp's own server does the rest
  bool layouts = false;         // layers are laid out by measured sizes (of this architecture)
  int64_t llama_cpp_build = 0;  // the newest llama.cpp in it

  std::vector<int64_t> slots;    // numbers of slots tried, the first that fits on GPUs wins
  int64_t context = 0;           // tokens by default; 0: by the memory of the GPUs
  bool context_variable = true;  // OLLAMA_CONTEXT_LENGTH is read

  // Of the estimate
  bool full_graph_has_logits = true;
  bool cache_of_each_layer = true;
  bool states_counted = true;
  bool flash_graph = true;
  bool largest_part_as_buffer = false;
  bool last_layer_first = true;
  bool tower_counted = true;
  bool tower_with_output = true;
  // Of what it starts
  bool projector_by_size = true;    // on GPUs that hold it; before: above 10 GiB
  bool projector_padded = true;     // its size and more is kept free, on shared memory too
  bool flash_auto = true;           // llama.cpp decides on flash attention unless told
  bool micro_batch_follows = true;  // else 512
  bool own_op_offload = true;       // Ollama's own engine copies host weights over for long prompts
  bool own_cells = true;            // of every slot; before: all slots share theirs
  ArchitectureRule architecture;
};

// `new_estimates`: OLLAMA_NEW_ESTIMATES is set. `new_engine`: OLLAMA_NEW_ENGINE is.
// Errors: internal where the profile is incomplete.
Result<Release> release_for(const json::Value& profile, const Version& version,
                            const model::Model& model, bool new_estimates, bool new_engine);

}  // namespace vramwise::engines::ollama
