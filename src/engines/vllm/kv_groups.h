// How vLLM lays the caches of all layers out in one pool of blocks: groups of layers that share a
// page size, as v1/core/kv_cache_utils.py forms them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engines/rank_cache.h"
#include "engines/vllm/kernel.h"
#include "engines/vllm/profile.h"

namespace vramwise::engines::vllm {

enum class StateMode { one, aligned, every };  // mamba_cache_mode none, align, all

struct GroupingRules {
  int64_t block_tokens = 16;  // of the backend, or as given
  bool window_groups = true;  // else window layers are cached in full
  bool chunk_groups = false;
  StateMode state_mode = StateMode::one;
  int64_t speculative_tokens = 0;
  int64_t state_alignment = 16;
  int64_t side_extra_pages = 0;
  int64_t threshold_percent = 150;
  int64_t context_ranks = 1;
  int64_t in_flight_batches = 1;
  bool figure_by_concurrency = true;
};

// What the layout is like, beside the numbers of the shape.
struct Pool {
  int64_t block_tokens = 16;      // tokens of a block of the attention layers
  bool raised = false;            // block_tokens were raised to hold a state
  double state_padding = 0;       // share by which state pages are padded
  int64_t group_size = 0;         // layers a group
  int64_t padding_layers = 0;     // layers that exist only to fill groups
  double padding_share = 0;       // worst bucket's
  Bytes growing_bytes_per_token;  // of the stage's layers that keep every token
  std::string fault;              // why vLLM refuses the layout; empty: fine
  bool has_states = false;
  bool has_windows = false;
  bool compressed = false;  // DeepSeek-V4's pages
};

// Fills the cache part of `shape`. `caches` are those of one stage's ranks, or of all layers with
// `first` and `end` naming the stage.
Pool lay_out(const std::vector<LayerCache>& caches, const GroupingRules& rules,
             const Profile& profile, int32_t first, int32_t end, VllmShape& shape);

}  // namespace vramwise::engines::vllm
