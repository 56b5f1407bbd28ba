// SGLang's options and the facts of its version, read and typed.
#pragma once

#include <string>

#include "base/result.h"
#include "engines/draft_head.h"
#include "engines/engine.h"
#include "engines/facts.h"
#include "engines/rank_cache.h"

namespace vramwise::engines::sglang {

struct Setup {
  int64_t tensor = 1, data = 1, pipeline = 1, expert = 1;
  bool tensor_assumed = false;
  bool data_attention = false;  // each data rank has attention weights and a cache of its own
  int64_t attention_ranks = 1;
  std::optional<double> fraction;  // mem_fraction_static
  int64_t chunk = 0;               // chunked_prefill_size; 0: off
  int64_t graph_batch = 0;         // largest captured decode batch; 0: no graphs
  bool prefill_graphs = true;
  int64_t prefill_limit = 0;    // largest captured prefill, tokens; 0: the chunk
  int64_t pieces = 0;           // largest prefill captured in pieces where that is asked for
  bool decodes_only = false;    // prompts are read by another server (disaggregation_mode)
  Bytes host_cache;             // hierarchical cache of a rank in host memory; zero: by the ratio
  double host_cache_ratio = 0;  // times the pool; 0: no hierarchical cache
  int64_t max_running = 0;      // 0: derived
  int64_t context = 0;
  std::optional<int64_t> max_tokens;  // max_total_tokens
  int64_t page = 1;
  double window_ratio = 0, state_ratio = 0;
  int64_t state_slots = 0;  // max_mamba_cache_size, of all data ranks together; 0: by the ratio
  bool radix_cache = true, window_pools = true;
  bool multimodal = true;
  DType plain = DType::bfloat16, state = DType::float32;
  ElementSize element;
  std::string cache_dtype;
  bool mtp = false;         // the model's own prediction layer drafts
  bool drafter = false;     // a separate model or head does
  bool standalone = false;  // a model of its own
  HeadKind drafter_head = HeadKind::none;
  int64_t draft_tokens = 0;
  std::optional<weights::Scheme> online;  // quantise plain linear matrices while loading
  Bytes offload;                          // of a rank's weights, to host memory
  int64_t lora_slots = 0, lora_rank = 0;
  bool context_from_workload = false;
  bool context_given = false;
  bool allow_long = false;  // a context beyond what the model reads

  // Facts of the version and the card
  ByteRange before;     // gone before the weights are loaded
  ByteRange leftovers;  // what loading leaves behind in the allocator
  ByteRange system;     // of unified memory, what the host's own programs hold
  // Default of mem_fraction_static: a number, bytes set aside, or (both zero) by parts.
  double fixed_fraction = 0;
  Bytes set_aside;
  bool index_keys_counted = true;  // the pool's size allows for an indexer's keys
  bool repacked = false;           // group-quantised weights, laid out anew for Marlin kernels
  Bytes reserved_floor, large_floor;
  Bytes draft_reserved;  // for a drafter and its graphs, on top of the parts
  int64_t reserved_per_token_kib = 0, reserved_per_rank_mib = 0, graph_per_batch_mib = 0;
  int64_t latent_graph_mib = 0, prefill_graph_mib = 0, piece_kib = 0;
  int64_t smi_per_mille = 1000;
  double multimodal_factor = 1;
  double vision_sensitivity = 0;  // of the default fraction to the size of the tower; 0: none
  bool compressed = false;        // rows of several tokens (DeepSeek-V4)
  bool block_states_paged = false;
  int64_t sparse_row_bytes = 0;
  bool pool_rows_plain = true;
  bool second_scales = false;  // NVFP4 scales stay in both layouts
  int64_t weights_low_per_mille = 0, weights_high_per_mille = 0;
  Bytes weights_floor;
  int64_t slots_per_request = 1;
  int64_t activation_kib = 0;  // per token of a chunk, for the ledger

  // Of the ranks of one server, those with requests of their own, and the most that one may run;
  // 0: derived. Without data-parallel attention every data rank is a server of its own.
  int64_t attention_data() const { return data_attention ? data : 1; }
  int64_t most_requests() const { return max_running / attention_data(); }
  int64_t cards() const { return tensor * pipeline * (data_attention ? 1 : data); }
};

// The separate draft model that the options name; empty: none, or a head.
std::string draft_named(const Options& options);

Result<Setup> read_setup(const Question& question, Notes& notes);

}  // namespace vramwise::engines::sglang
