// TensorRT-LLM's options and the facts of its version, read and typed.
#pragma once

#include <string>

#include "base/result.h"
#include "engines/draft_head.h"
#include "engines/engine.h"
#include "engines/facts.h"
#include "engines/rank_cache.h"
#include "engines/rank_weights.h"

namespace vramwise::engines::trtllm {

struct Setup {
  int64_t tensor = 1, pipeline = 1, expert = 1;
  bool tensor_assumed = false;
  bool data_attention = false;  // each rank has attention, a cache and requests of its own
  bool head_parallel = false;   // enable_lm_head_tp_in_adp
  int64_t attention_ranks = 1;
  double fraction = 0;
  int64_t max_batch = 0, max_tokens_in_flight = 0, max_seq = 0;
  int64_t block_tokens = 32;
  std::optional<int64_t> max_tokens;
  std::optional<Bytes> max_bytes;
  DType plain = DType::bfloat16;
  ElementSize element;
  std::string cache_dtype;
  bool length_from_workload = false;
  bool length_given = false;
  bool allow_long = false;     // requests beyond what the model reads
  bool mtp = false;            // the model's own prediction layer drafts
  int64_t mtp_copies = 1;      // vanilla MTP loads the layer once a drafted token
  bool drafts_counted = true;  // the estimate of the cache allows for drafting layers
  bool drafter = false;        // a separate model or head does
  HeadKind drafter_head = HeadKind::none;

  ByteRange overhead;              // above the weights at the profiled peak, less the trial cache
  bool batch_sizes_trial = false;  // the trial cache holds a block per sequence of the batch
  int64_t captured = 0;            // batch sizes that decode graphs are captured for
  bool deep_gemm = false;          // DeepGEMM's kernels run the experts
  int64_t moe_tokens = 0;          // tokens that the experts see at a time
  ExpertPadding mxfp4_padding, nvfp4_padding;
  int64_t weights_low_per_mille = 0, weights_high_per_mille = 0;
};

// The separate draft model that the options name; empty: none, or a head.
std::string draft_named(const Options& options);

Result<Setup> read_setup(const Question& question, Notes& notes);

}  // namespace vramwise::engines::trtllm
