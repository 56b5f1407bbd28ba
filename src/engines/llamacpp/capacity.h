// How many users, how long a sequence: searches over budgets.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/units.h"
#include "engines/llamacpp/budget.h"

namespace vramwise::engines::llamacpp {

struct Capacity {
  int64_t users = -1;
  int64_t longest_sequence = -1;
};

// Room of each device of the budget (the CPU last) for model, caches and compute buffers; a
// negative entry is not limited.
struct CapacityQuestion {
  ContextSettings context;
  PlacementSettings placement;
  std::vector<int64_t> room;
  int64_t sequence_tokens = 0;  // of each user
  int64_t users = 1;            // of the longest sequence
  bool want_longest = true;
  // Adds what stands beside a context of these settings (a draft model) to its budget; may be
  // empty.
  std::function<void(const ContextSettings&, Budget&)> beside;
  // Bytes by which the question as asked is over its room, where it asks for exactly these tokens
  // and users; saves a budget.
  bool known = false;
  int64_t known_excess = 0;
};

// By how much the fullest device is over its room; negative when all fit.
int64_t excess_of(const Budget& budget, const std::vector<int64_t>& room);

Capacity find_capacity(Budgeter& budgeter, const CapacityQuestion& question);

// Smallest value in [low, high] for which `holds`, or high + 1; `holds` must be monotonic.
int64_t smallest_that(int64_t low, int64_t high, const std::function<bool(int64_t)>& holds);

}  // namespace vramwise::engines::llamacpp
