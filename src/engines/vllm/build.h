// From a question to the numeric shapes of its pipeline stages: everything that the budget, the log
// lines and the levers read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engines/engine.h"
#include "engines/rank_weights.h"
#include "engines/vllm/kernel.h"
#include "engines/vllm/kv_groups.h"
#include "engines/vllm/profile.h"
#include "engines/vllm/settings.h"

namespace vramwise::engines::vllm {

struct Stage {
  VllmShape shape;
  Pool pool;
  RankWeights weights;
  ByteRange drafter;  // the part of them that is a separate drafter's, with its bar
  StageRange layers;
};

struct Build {
  Given given;
  Decided decided;
  Profile profile;
  Circumstances now;
  std::vector<Stage> stages;
  int64_t ranks_used = 1;  // devices that hold a rank
  Bytes ngrams_on_host;    // n-gram tables that a process of its own keeps in host memory
  // The layers of all stages together, where the check at start asks the poorest rank for the cache
  // of the whole model (pipelines of 0.14 and 0.15).
  std::optional<VllmShape> whole;
  // What a rank of `stage` has to hold one request in.
  const VllmShape& asked_of(const Stage& stage) const { return whole ? *whole : stage.shape; }

  // Device i holds a rank of this stage (ranks of one stage are neighbours).
  const Stage& stage_of_device(int device) const;
};

// The separate draft model that the options name; empty: none, or a head.
std::string draft_named(const Options& options);

Result<Build> build(const Question& question, Notes& notes);

VllmPoint point_of(const Build& b, Bytes total);

}  // namespace vramwise::engines::vllm
