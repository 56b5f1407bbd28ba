// SGLang's memory of one rank: what the fraction leaves for the pools, and the pools cut from it.
//
//   budget = free after the weights - free before them x (1 - mem_fraction_static)
//
// Source: sglang mem_cache/kv_cache_configurator.py, model_executor/pool_configurator.py,
// server_args.py.
#pragma once

#include <vector>

#include "engines/engine.h"
#include "engines/rank_weights.h"
#include "engines/sglang/settings.h"

namespace vramwise::engines::sglang {

// Bytes per token of the layers of one rank.
struct Cells {
  int64_t full = 0;       // layers that keep every token, in whole bytes
  int64_t window = 0;     // sliding-window layers
  int64_t state = 0;      // states of one request
  int64_t real_full = 0;  // rows as they are really stored
  // Of `full`, what whole bytes leave out: rows of many tokens (DeepSeek-V4), in bytes per 128.
  int64_t full_rest_128 = 0;
  int64_t block_states = 0;  // unfinished blocks of one request, where they are not paged
  int64_t longest_window = 0;
};

struct RankPlan {
  RankWeights parts;
  Bytes offloaded;    // of the weights, in host memory
  Bytes host_cache;   // second level of the cache, in host memory
  ByteRange drafter;  // the part of a separate drafter, with its bar
  ByteRange weights;  // as the free memory falls by
  // Gone before the weights, and left behind by loading them; as measured where a run applies.
  ByteRange before, leftovers;
  ByteRange system;  // of unified memory, by the host's own programs; none where it is told
  bool before_measured = false, weights_measured = false;
  double fraction = 0;
  bool fraction_derived = false;
  ByteRange free_before;  // before the weights
  ByteRange free_after;
  ByteRange budget;
  Bytes outside;              // free_before x (1 - fraction): activations and graphs
  Bytes graphs, activations;  // estimates of what fills it
  Cells cells;
  int64_t tokens = 0, tokens_low = 0, tokens_high = 0;
  int64_t window_tokens = 0;
  int64_t state_slots = 0;
  int64_t drafted_states = 0;  // kept between the drafted tokens of the running requests
  Bytes full_pool, window_pool, state_pool;
  Bytes request_table;  // taken from `outside`
  int64_t max_running = 0;
};

// Notes say what was assumed of a drafter.
RankPlan plan_rank(const Question& question, const Setup& setup, const Device& device,
                   Notes& notes);

}  // namespace vramwise::engines::sglang
