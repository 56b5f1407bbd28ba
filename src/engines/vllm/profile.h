// What vLLM of one version does on one kind of card: catalog/engines/vllm.json, read and typed.
// Sizes in the catalog are MiB; every fact there names its source.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engines/facts.h"
#include "engines/rank_weights.h"

namespace vramwise::engines::vllm {

// How DeepSeek-V4's pages of several sizes lie in a block of the pool (kv_groups.cpp).
enum class PackedBlocks { tuples, slots, overlaid };

// A captured size, per layer: as one graph a layer, and as a part of one graph of all layers.
struct GraphSize {
  Bytes piece, full;
};

struct Profile {
  Version version;

  // Budget
  bool bfloat16_falls_back = false;     // on cards without it, to float16
  std::vector<std::string> half_fails;  // model types that go on to float32 there
  // Model types whose towers stay away when limit_mm_per_prompt is zero for all they read; "*":
  // all.
  std::vector<std::string> text_only_limits;
  double utilisation = 0;          // default of gpu_memory_utilization
  bool graphs_charged = false;     // the graph estimate is subtracted from the budget
  bool blocks_are_memory = false;  // num_gpu_blocks_override replaces the available memory

  // Batch limits where the user gives none
  int64_t batch_tokens = 0, max_seqs = 0;
  // Model types whose media see both ways, so that an item is not split over batches.
  std::vector<std::string> whole_items;
  int64_t whole_item_tokens = 0;  // of their largest item
  bool batch_holds_item = false;  // the default rises to hold it; else the server stops
  int64_t unchunked_floor = 0, chunked_batch = 0, chunked_above = 0;  // first engine only

  // Cache
  bool window_groups = false;  // layers of several kinds share a pool by groups
  bool chunked_layers_grouped = false;
  int64_t group_threshold_percent =
      0;  // largest bucket over smallest, below which the largest rules
  bool figure_by_concurrency = false;  // "GPU KV cache size" = concurrency x max_model_len
  int64_t batches_in_flight = 1;       // with asynchronous scheduling
  bool in_flight_by_stages = false;    // else one batch per pipeline stage
  bool state_caching_default = false;  // prefix caching of hybrids when the flag is absent
  bool state_caching_aligns = false;   // prefix caching keeps aligned states
  bool mamba_state_demanded = false;   // honours the state type that a Mamba-2 model's config names
  bool delta_state_demanded = false;
  bool pipeline_asks_whole = false;    // the poorest rank is asked for every stage's cache
  bool slot_check = false;             // refuses max_num_seqs above the state blocks
  bool checkpoint_cache_type = false;  // cache type of the checkpoint's quantisation config
  bool sparse_plain_rows = false;      // fp8 latent rows beside an indexer stay elements
  int64_t sparse_row_bytes = 0;
  int64_t block_tokens = 0, latent_block_tokens = 0, sparse_block_tokens = 0,
          compressed_block_tokens = 0;
  int64_t state_alignment = 0, latent_state_alignment = 0, pooled_state_alignment = 0;
  int64_t side_extra_pages = 0;
  PackedBlocks packed_blocks = PackedBlocks::tuples;  // DeepSeek-V4's pages in a block
  bool streams_logged = true;  // false: no log shows what several residual streams take here

  bool spare_projections = true;  // K and V of layers that read another layer's cache

  // Activations
  int64_t sampler_bytes = 0;         // per sequence and vocabulary entry
  int64_t sampler_low_bytes = 0;     // where another kernel may be installed
  int64_t sampler_buffer_bytes = 0;  // per scratch row and vocabulary entry
  bool sampler_when_chunked = true;
  int64_t items_per_prompt = 0;  // of one modality, where limit_mm_per_prompt is not given
  bool encoder_profiled = true;  // the profile run puts items through the encoder
  bool rows_padded = false;      // what it makes of an item is copied to rows of a whole budget
  bool first_compile_charged = false;  // what compiling takes counts as activations
  bool first_compile_stays = false;    // and is not given back before the cache is sized
  bool sampler_state_charged = false;  // counters of the sampler on the card lie in the budget
  Bytes cublas_workspace;
  bool expert_workspace_stays = false;
  int64_t expert_token_cap = 0;
  bool indexer_buffers = false;
  int64_t layer_hidden = 3;  // hidden states that live while the widest layer runs
  int64_t indexer_rows = 0;  // gather rows per token of the longest sequence
  int64_t sampler_percent = 0, layer_percent = 0, encoder_percent = 0, expert_percent = 0;  // bars

  // Outside of torch, and graphs
  ByteRange non_torch;
  int64_t all_reduce_limit = 0;   // largest tensor whose all-reduce is fused with the norm; 0: none
  Bytes all_reduce_step;          // its buffers are rounded up to
  bool all_reduce_fused = false;  // by default
  bool all_reduce_alone = false;  // not beside pipeline or data parallelism
  ByteRange before_snapshot;      // context, communication: charged to nothing
  GraphSize graph_layer, graph_latent_layer, graph_sparse_layer;  // per layer and captured size
  int64_t graph_low_percent = 0, graph_high_percent = 0;          // of the estimate
  int64_t graph_taken_low_percent = 0, graph_taken_high_percent = 0;
  ByteRange graph_host;  // unified memory: what the host takes meanwhile is in the estimate
  bool graph_activations = false;  // the pool keeps the largest batch's activations
  int64_t graph_splits = 0;        // FlashAttention 3 keeps so many partial results of a FULL graph
  int64_t graph_over_estimate_percent = 0;  // the most that capturing takes of the estimate
  bool old_drivers = false;                 // runs with drivers whose graphs take more
  bool full_graphs = false;                 // decode batches are captured whole, beside the pieces
  bool flashinfer_attention = false;        // the platform's choice for caches in 16 bits
  Bytes flashinfer_workspace;
  bool warm_up_freed = false;    // the first capture gives back what the warm-up left cached
  int64_t graph_sizes_step = 0;  // step of capture sizes from 256 on
  int64_t graph_largest = 0;     // default bound of the largest captured batch

  // Expert kernels
  ExpertPadding mxfp4_padding, nvfp4_padding;
  bool marlin_fp8 = false;  // 8-bit weights run on Marlin (no fp8 units)
  bool gptq_without_marlin = false;
  bool fp4_without_workspace = false;    // NVFP4 experts keep no workspace
  bool mxfp4_without_workspace = false;  // nor MXFP4 ones
  int64_t weights_per_mille = 0;         // bar of loaded weights
  // Of quantised weights, at most: see Budget. In words that are packed anew while loading, others.
  int64_t released_packed_per_mille = 0, released_per_mille = 0;
  int64_t unverified_per_mille = 0;  // upper bar where the model leaves tensors out
  // Bars where the publisher's habit stands for a 4-bit repository's own config.
  int64_t habit_low_per_mille = 0, habit_high_per_mille = 0;
};

// `now` describes card and flags; its `first_engine` is set from the version and VLLM_USE_V1,
// its `runner` from the version and VLLM_USE_V2_MODEL_RUNNER.
Result<Profile> load_profile(const Version& version, Circumstances& now,
                             std::optional<bool> use_first_engine,
                             std::optional<bool> use_second_runner);

}  // namespace vramwise::engines::vllm
