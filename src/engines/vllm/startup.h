// What has to hold for the server to start, in the order in which vLLM finds out, with the words it
// would refuse with.
//
// Source: vllm v1/worker/gpu_worker.py, v1/core/kv_cache_utils.py, engine/arg_utils.py,
// config/{model,parallel,scheduler}.py.
#pragma once

#include <vector>

#include "engines/engine.h"
#include "engines/vllm/budget.h"
#include "engines/vllm/build.h"

namespace vramwise::engines::vllm {

// Impossible settings: heads that do not divide, batch limits that contradict each other.
std::vector<Refusal> refusals(const Question& question, const Build& build);

// Memory, step by step, then the workload.
std::vector<Requirement> requirements(const Question& question, const Build& build,
                                      const Budget& budget);

// Tokens and sequences asked for, of one replica of data parallelism; the engine's own question
// (one request of its maximum length) where nothing was asked.
struct Demand {
  int64_t tokens = 0;
  int64_t requests = 1;
  bool asked = false;
};
Demand demand_of(const Question& question, const Build& build, const Budget& budget);
// Users of that length that all replicas serve at once; -1: a model without a cache.
int64_t users_of(const Build& build, const Budget& budget, const Demand& demand);

}  // namespace vramwise::engines::vllm
