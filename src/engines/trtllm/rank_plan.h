// TensorRT-LLM's memory of one rank: a trial run measures the peak, and a fraction of what is left
// beside it becomes the cache.
//
//   cache = fraction x (total - (peak - trial cache))
//
// Source: TensorRT-LLM tensorrt_llm/_torch/pyexecutor/_util.py, resource_manager.py.
#pragma once

#include "engines/engine.h"
#include "engines/rank_weights.h"
#include "engines/trtllm/settings.h"

namespace vramwise::engines::trtllm {

struct RankPlan {
  RankWeights parts;
  ByteRange weights, peak, cache;
  ByteRange drafter;   // the part of the weights that is a separate drafter's
  ByteRange overhead;  // above the weights at the profiled peak
  // Kept by DeepGEMM's expert kernels from the first run on; the log counts it as weights.
  ByteRange workspace;
  bool weights_measured = false, overhead_measured = false;
  Bytes per_token, trial, states;
  Bytes estimated_per_token;  // what the cache is divided by: before 1.3 without drafting layers
  int64_t tokens = 0, tokens_low = 0, tokens_high = 0;
};

// Notes say what was assumed of a drafter.
RankPlan plan_rank(const Question& question, const Setup& setup, const Device& device,
                   Notes& notes);

}  // namespace vramwise::engines::trtllm
