// The compute buffers of one context: build the graph, schedule it, allocate it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engines/llamacpp/allocator.h"
#include "engines/llamacpp/graph/blocks.h"
#include "engines/llamacpp/scheduler.h"

namespace vramwise::engines::llamacpp {

struct ComputePlan {
  std::vector<int64_t> bytes;  // of each backend, the CPU last
  int splits = 0;
  int nodes = 0;
};

// Keeps its memory from plan to plan.
class ComputePlanner {
 public:
  ComputePlan plan(const GraphInput& input, std::span<const BackendProfile> backends,
                   const ScheduleOptions& options);

 private:
  bool delta_rule_stays(const GraphInput& input, int64_t tokens,
                        std::span<const BackendProfile> backends, const ScheduleOptions& options);

  Graph graph_;
  Scheduler scheduler_;
  Allocator allocator_;
};

}  // namespace vramwise::engines::llamacpp
