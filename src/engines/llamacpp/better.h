// A placement of our own beside the program's fit: everything that every token reads on the GPUs,
// and as many feed-forward matrices beside it as their memory holds, each where there is room. Fit
// moves whole layers and at most one in part; single stacks leave less room unused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engines/llamacpp/budget.h"

namespace vramwise::engines::llamacpp {

struct BetterPlacement {
  PlacementSettings placement;
  std::vector<std::string> overrides;  // as -ot takes them
  Budget budget;                       // measured: within the room of every device
};

// `room` of each device is for model, caches and compute buffers. `base` is the placement as asked,
// with layers and overrides left open. Nothing where what every token reads does not fit.
std::optional<BetterPlacement> find_better(Budgeter& budgeter, const weights::GgufModel& gguf,
                                           const ContextSettings& context,
                                           const PlacementSettings& base,
                                           const std::vector<int64_t>& room);

}  // namespace vramwise::engines::llamacpp
