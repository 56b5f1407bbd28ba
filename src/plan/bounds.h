// Inverse questions: the most of something that still fits, by search on the real model.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "plan/plan.h"

namespace vramwise::plan {

enum class Of { context, concurrency, batch, lora, weights };
std::string_view to_string(Of of);
// Errors: not_found with the list of what can be asked.
Result<Of> of_from_name(std::string_view name);

struct Bound {
  Of of = Of::context;
  int64_t value = 0;         // largest that fits; 0: not even one
  int64_t likely_value = 0;  // largest that fits or is tight, >= value
  int64_t limit = 0;         // where the search stopped because more makes no sense
  std::string format;        // Of::weights: the best format that fits
  std::string binding;       // what the next larger value breaks
  std::string explanation;   // how it breaks, in one sentence; empty at the limit
  bool at_limit = false;     // memory is not what bounds it
  std::optional<Plan> plan;  // the plan at `value`, without levers; empty when nothing fits
};

// Monotone: a larger value never needs less, so a binary search finds the exact bound. Errors: as
// make_plan; unsupported when the engine has no such knob.
Result<Bound> find_bound(const Resolved& resolved, Of of);

}  // namespace vramwise::plan
