// catalog/speeds read: what the step-time model needs for one engine, card and weight format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "catalog/gpu.h"
#include "json/value.h"
#include "workload/scheduler.h"

namespace vramwise::workload {

// How an engine schedules and what its options are called, as data.
struct EngineTraits {
  Policy policy = Policy::decode_first;
  int64_t null_blocks = 0;
  bool reserve_output = false;
  std::vector<std::string> draft_options;  // tokens drafted at a time, first given counts
  bool drafts_count_own = false;           // they include the decode's own token
  int64_t draft_default = 0;               // where only a draft model is named
  std::string router;                      // between its data-parallel servers
  json::Value options;                     // our word to the engine's
  // Errors: unsupported for an engine that no scheduler is known of.
  static Result<EngineTraits> load(std::string_view engine);
  std::string option(std::string_view word) const;
};

// Factors on a step time that nine of ten measured ones stay between.
struct StepBar {
  double low = 1, high = 1;
  // Of a step that follows the user's own two points.
  static Result<StepBar> calibrated();
};

struct StepParameters {
  std::string memory_class;
  double weight_share = 0;   // of the bandwidth
  double expert_factor = 1;  // on it, for routed experts
  double cache_share = 0;
  double compute_share = 0;
  double layer_seconds = 0, step_seconds = 0;
  double routed_layer = 0;  // what routing experts adds to a layer, share of layer_seconds
  double low_factor = 1, high_factor = 1;
  bool validated = false;
  std::string tensor_parallel_option;
  std::string source;
  std::vector<std::string> remarks;

  static Result<StepParameters> load(std::string_view engine, const catalog::Gpu& gpu,
                                     double bits_per_weight);
  // One all-reduce of so many bytes among that many cards.
  double all_reduce_seconds(int64_t ranks, double bytes) const;

 private:
  // [ln bytes, ln seconds] by ranks.
  std::vector<std::pair<int64_t, std::vector<std::pair<double, double>>>> all_reduce_;
};

}  // namespace vramwise::workload
