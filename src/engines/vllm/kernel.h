// The arithmetic of vLLM's memory budget on plain numbers: no text, no allocation, no model. Sweeps
// call it a few million times a second; the ledger is built on the same results.
//
// A VllmShape holds what does not change along a sweep (model, weights, parallel layout, version,
// kind of card); a VllmPoint what does (card size, share, lengths, batch). All sizes are of one
// rank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace vramwise::engines::vllm {

// Pages that one request takes of some equal groups of layers.
struct PageRule {
  enum class Kind : uint8_t {
    growing,  // every token, spread over `context_ranks`
    window,   // the last `window` tokens and those in flight, plus one page
    chunk,    // the current chunk and those in flight
    fixed,    // `pages`, whatever the length
    every,    // one page per block and `pages` more (states kept per block)
    cross,    // `window` encoder tokens
  };
  Kind kind = Kind::growing;
  int64_t block_tokens = 16;
  int64_t window = 0;
  int64_t pages = 0;
  int64_t groups = 1;
};

inline constexpr size_t kMaxPageRules = 12;

struct VllmShape {
  // Weights
  Bytes weights;
  Bytes weights_per_batch_token;  // buffers that grow with max_num_batched_tokens

  // Cache
  std::array<PageRule, kMaxPageRules> rules;
  int32_t rule_count = 0;
  Bytes block_bytes;            // one block of every group's tensors
  Bytes asked_block_bytes;      // what the check of one request takes for a block; 0: block_bytes
  int64_t groups = 0;           // cache groups; 0: the model keeps nothing
  int64_t smallest_block = 16;  // tokens of the smallest block among the groups
  int64_t context_ranks = 1;    // decode x prefill context parallelism
  int64_t in_flight_batches = 1;
  bool figure_by_concurrency = true;

  // Activations: fixed + per token of the batch (t) + per sequence (N) + per token of the longest
  // sequence (m). The peak is the largest of sampler, layer and encoder on top of what stays.
  Bytes stays_fixed;     // cuBLAS workspaces
  Bytes measured_shift;  // of the peak: measured less planned
  // Upper end of the peak where no log tells which kernels run: fixed + per token of the batch.
  Bytes doubt_fixed;
  int64_t doubt_per_token = 0;
  int64_t expert_row_bytes = 0;  // workspace per routed row
  int64_t experts_per_token = 0;
  int64_t expert_extra_rows = 0;  // alignment rows (DeepGEMM); 0 = no rounding
  int64_t expert_token_cap = 0;
  bool expert_workspace_stays = false;
  int64_t stays_per_length = 0;  // sparse indexer's gather buffers, bytes per token of m
  int64_t sampler_per_sequence = 0;
  int64_t sampler_per_token = 0;
  int64_t sampler_buffer_row = 0, sampler_buffer_rows = 0;  // scratch of top-k, at most so many
  bool samples = true;
  int64_t layer_per_token = 0;
  int64_t expert_layer_per_token = 0;  // rows that stay beside the workspaces (Marlin)
  int64_t latent_row_bytes = 0;        // MLA up-projection buffer, per row; 0 = none
  int64_t item_tokens = 0;             // largest multimodal item; 0 = no tower profiled
  int64_t items_per_prompt = 0;        // limit_mm_per_prompt; 0 = what the length holds
  int64_t item_transient_bytes = 0, item_input_bytes = 0;
  int64_t item_rows =
      0;  // that the encoder makes of an item; 0 = copied to those of a whole budget
  int64_t item_row_bytes = 0;
  // The first start compiles inside of the profile run: a copy of the embedding.
  Bytes first_compile;
  bool first_compile_stays = false;

  // Beside the weights and the peak, and graphs
  Bytes non_torch;
  int64_t sampler_state = 0;  // bytes of a sequence that stay on the card
  // Buffers of the fused all-reduce (all_reduce_buffers below).
  int64_t all_reduce_row = 0;     // bytes of a token in the parts of all ranks; 0 = not fused
  int64_t all_reduce_tokens = 0;  // largest batch that it serves
  int64_t all_reduce_flags = 0;
  Bytes all_reduce_step;    // each buffer is rounded up to
  Bytes graph_piece_bytes;  // one PIECEWISE size: a graph for each layer
  Bytes graph_full_bytes;   // one FULL size: a graph of all layers
  Bytes graph_workspace;    // of the attention kernels, in the estimate where FULL ones are made
  // Stay in the graphs' pool: the largest batch's activations and a cuBLAS workspace; partial
  // results of attention, per token of the largest FULL size.
  Bytes graph_first;
  int64_t graph_first_per_token = 0, graph_split_per_token = 0;
  Bytes graph_shift;  // of the estimate: the host's part, measured less planned
  bool graphs_charged = false;
  bool graphs_captured = true;
  bool piecewise_graphs = true, full_graphs = true;
  int64_t graph_sizes_step = 16;
  int64_t graph_largest = 512;
  bool graph_largest_given = false;  // asked for: not bounded by the sequences
  int64_t speculative_tokens = 0;
  int64_t listed_sizes = 0;  // capture sizes given one by one; 0 = derived
  int64_t listed_largest = 0;
};

struct VllmPoint {
  Bytes total;  // what the driver reports
  double utilisation = 0.9;
  Bytes fixed_cache;         // kv_cache_memory_bytes; 0 = by the budget
  int64_t fixed_blocks = 0;  // num_gpu_blocks_override; 0 = by the memory
  int64_t max_model_len = 0;
  int64_t batch_tokens = 0;
  int64_t max_seqs = 0;
};

// Items of the largest size that the profile run puts through the encoder: as many as the budget of
// tokens holds, and no more than all sequences may bring. 0 without a tower.
// Source: vllm multimodal/encoder_budget.py.
int64_t profiled_items(const VllmShape& shape, const VllmPoint& point);

struct VllmActivations {
  Bytes stays;                             // alive through the whole profile run
  Bytes sampler, layer, encoder, compile;  // alternatives: the largest counts
  Bytes outputs;                           // items for the encoder and its outputs, kept
  Bytes experts;                           // workspace, part of `stays` or of `layer`
  Bytes peak;
};

// Captured sizes by kind.
struct GraphCounts {
  int64_t piecewise = 0, full = 0;
  int64_t largest = 0, largest_full = 0;  // tokens
  int64_t all() const { return piecewise + full; }
};

struct VllmTotals {
  Bytes requested;  // share x total
  Bytes weights;
  VllmActivations activations;
  Bytes non_torch;   // with the three below
  Bytes all_reduce;  // the all-reduce's buffers
  Bytes sampler_state;
  Bytes compile_left;  // what compiling took and did not give back
  Bytes graphs;        // estimate, whether charged or not
  Bytes graphs_taken;  // what capturing them takes
  GraphCounts graph_counts;
  Bytes available;  // for the cache; may be negative
  int64_t blocks = 0;
  int64_t pages_per_request = 0;  // at max_model_len
  int64_t pool_tokens = 0;        // "GPU KV cache size"
  double concurrency = 0;         // "Maximum concurrency"
};

Bytes requested_bytes(Bytes total, double utilisation);
// The scratch rows of top-k and top-p: a power of two that holds the sequences, at most one for a
// multiprocessor. Source: vllm v1/sample/ops/topk_topp_triton.py.
Bytes sampler_buffer(const VllmShape& shape, int64_t sequences);
VllmActivations activations(const VllmShape& shape, const VllmPoint& point);
GraphCounts graph_counts(const VllmShape& shape, const VllmPoint& point);
// What the first captures leave in the graphs' pool, whatever the number of sizes.
Bytes graph_pool(const VllmShape& shape, const GraphCounts& sizes);
// Three buffers: the ranks' parts, their flags, and three turns of the parts that carry their own.
// Source: flashinfer comm/trtllm_ar.py trtllm_create_ipc_workspace_for_all_reduce_fusion.
Bytes all_reduce_buffers(const VllmShape& shape, int64_t batch_tokens);
// Pages of all groups that one request of `tokens` tokens takes.
int64_t pages_of(const VllmShape& shape, int64_t tokens, int64_t batch_tokens);
// Bytes of a block in the start-up check, and what the check asks for such a request.
Bytes asked_block(const VllmShape& shape);
Bytes need_of(const VllmShape& shape, int64_t tokens, int64_t batch_tokens);
// Longest request whose pages fit in `available`, at most `limit` tokens.
int64_t longest_request(const VllmShape& shape, Bytes available, int64_t limit,
                        int64_t batch_tokens);
// The same in whole blocks that are there for `requests` requests of one length.
int64_t longest_request_in_blocks(const VllmShape& shape, int64_t blocks, int64_t requests,
                                  int64_t limit, int64_t batch_tokens);
// Tokens that the pool holds, as the engine prints them.
int64_t pool_figure(const VllmShape& shape, int64_t blocks, int64_t max_model_len,
                    int64_t batch_tokens);
VllmTotals evaluate(const VllmShape& shape, const VllmPoint& point);

}  // namespace vramwise::engines::vllm
