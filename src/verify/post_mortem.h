// Why a start, or a server, died: where, by how much, and which change would have kept it alive.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "verify/log.h"

namespace vramwise::verify {

// What the death was, over all engines' words for it.
enum class Cause {
  device_memory,
  fragmentation,
  host_memory,
  cache,
  share_not_free,
  state_slots,
  allocation_limit,
  settings,
  request,
  other
};
std::string_view to_string(Cause cause);

struct Advice {
  std::string knob;       // "gpu_memory_utilization", "mem_fraction_static", "n_gpu_layers"
  std::string direction;  // "raise", "lower", "set"
  std::string text;       // why, in a sentence
};

struct PostMortem {
  Cause cause = Cause::other;
  const Failure* failure = nullptr;  // the root, in the log's failures
  Phase phase = Phase::start;
  std::optional<double> needed, available;  // bytes; a count for state_slots
  std::optional<double> shortfall;
  bool shortfall_is_least = false;  // more may be missing: only this allocation is known
  double others = 0;                // bytes that other processes held
  std::string text;                 // one sentence
  std::vector<Advice> advice;       // best first
};

// nullopt: nothing died.
std::optional<PostMortem> post_mortem(const Log& log);

// The terms that the log printed, as a calibration of the plan of that very start, so that it can
// be planned again with one thing changed.
std::shared_ptr<const engines::Calibration> own_terms(const Log& log, const plan::Plan& plan);

// The smallest changes after which the failed start fits, cheapest first. `plan` is of the start as
// it was; its hardware gets what others held.
struct Repair {
  bool reproduced = false;  // the plan dies as the log did
  std::vector<plan::Lever> changes;
};
Repair repair(const Log& log, const PostMortem& mortem, const plan::Resolved& start);

}  // namespace vramwise::verify
