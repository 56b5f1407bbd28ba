// How long one step of a server takes, from what it has to read and compute: the weights once, the
// cache of everybody, the arithmetic, the exchange between cards, and a fixed cost a layer.
//
//   t = ((W/(BW·e_w))^4 + (2·A·m/(F·e_c))^4)^¼ for dense weights and experts, m tokens in the step
//     + K·kv/(BW·e_kv) + attention inside prompts + all-reduces of m tokens
//     + (layers + r·layers with routed experts)·t_layer
//
// Parameters: catalog/speeds/step-time.json, fitted to published measurements; speeds of a GPU
// beside it. Measured error: docs/accuracy.md, "Workloads".
#pragma once

#include <string>
#include <vector>

#include "base/note.h"
#include "base/result.h"
#include "plan/plan.h"
#include "workload/lengths.h"
#include "workload/scheduler.h"

namespace vramwise::workload {

// Where the time of one step goes, seconds. Reading and arithmetic of the same matrices overlap:
// they are joined by the fourth root of the sum of their fourth powers, the rest adds up.
struct StepParts {
  double weights = 0, weight_work = 0;  // dense matrices and the head: read, computed
  double experts = 0, expert_work = 0;  // those of the experts that the step visits
  double cache = 0, states = 0, head_work = 0, layers = 0, exchange = 0;
};

struct StepModel {
  // A step of `sequences` decodes that hold `context` tokens in total. Only of a model made from a
  // plan: zeros else.
  StepParts parts(int64_t sequences, int64_t context) const;

  StepTime time;  // likely, seconds
  // The bar: multiply the time by these for the quick and the slow end.
  double low_factor = 1, high_factor = 1;
  bool validated = false;   // measured rows of this class of memory and engine exist
  bool calibrated = false;  // the user's own measurements
  // For people, in the order of the formula.
  Bytes weight_bytes;        // read a step and card: all but the input embedding
  std::string memory_class;  // "hbm", "gddr", "unified"
  double weight_share = 0;   // of the bandwidth, reading weights
  double compute_share = 0;  // of the dense peak
  double bandwidth = 0;      // bytes a second and card
  double peak = 0;           // FLOP a second and card
  double expert_share = 0;   // factor on weight_share for routed experts; 0: none
  double cache_share = 0;    // of the bandwidth, reading the cache
  // Layers by the kernels a step starts: a mixer or a feed-forward alone is half of one; and those
  // with routed experts.
  double layers = 0, routed_layers = 0;
  // Operands of parts(): seconds to read everything, and of arithmetic for one token.
  double dense_read = 0, dense_work = 0, expert_read = 0, expert_work = 0, head_work = 0;
  double state_read = 0;   // a sequence
  double expert_miss = 0;  // share of the experts that one token does not visit
  std::string source;
};

// `sample` stands for the lengths that are served: how full windows are follows from it.
// Errors: unsupported where a rate of the hardware is not known (CPU only, a bare size).
Result<StepModel> step_model(const plan::Plan& plan, const std::vector<Pair>& sample, Notes& notes);
// Data-parallel servers that the plan's engine runs behind a router of its own.
int64_t replicas_of(const plan::Plan& plan);
// Pipeline stages, each of which works on a batch of its own meanwhile.
int64_t stages_of(const plan::Plan& plan);
// Text that requests share is computed once, where the engine can and nobody switched it off.
Result<bool> switch_reuse_on(const plan::Plan& plan, Scheduler& scheduler, Notes& notes);
// One token through a draft model beside the plan's: its weights read once and its layers' fixed
// costs, on one card.
Result<double> draft_pass_seconds(const plan::Plan& plan, const model::Model& draft,
                                  const weights::Weights& weights);
// The scheduler that the plan's engine runs, on the pool that the plan gives it.
Result<Scheduler> scheduler_of(const plan::Plan& plan, Notes& notes);

}  // namespace vramwise::workload
