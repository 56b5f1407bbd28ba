// What a drafter adds to one rank of an engine that runs on PyTorch: a separate model's weights and
// caches, or those of a head whose config is not known, estimated from its target.
//
// Source: vllm v1/spec_decode, config/speculative.py; sglang speculative/; tensorrt_llm
// _torch/speculative.
#pragma once

#include <vector>

#include "base/note.h"
#include "engines/draft_head.h"
#include "engines/engine.h"
#include "engines/rank_cache.h"
#include "engines/rank_weights.h"

namespace vramwise::engines {

struct RankDraft {
  bool known = false;              // false: asked for, but nothing is known of it
  ByteRange weights;               // of this rank
  std::vector<LayerCache> caches;  // numbered behind the target's layers
};

// `kind` none: a model of its own, which the question has or nobody knows. `ranks` share the
// drafter's matrices, `target_caches` are those of the rank. What was assumed goes into `notes`.
RankDraft rank_draft(const Question& question, HeadKind kind, int64_t ranks, const LoadRules& load,
                     const CacheRules& cache, const std::vector<LayerCache>& target_caches,
                     Notes& notes);

}  // namespace vramwise::engines
