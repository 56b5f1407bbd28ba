// The memory of one way of running: model, caches and compute buffers of each device and the host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engines/llamacpp/caches.h"
#include "engines/llamacpp/compute.h"
#include "engines/llamacpp/fold.h"
#include "engines/llamacpp/memo.h"
#include "engines/llamacpp/placement.h"
#include "engines/llamacpp/request.h"

namespace vramwise::engines::llamacpp {

struct Budget {
  Placement placement;
  ContextSize size;
  int copies = 1;             // pipeline copies of the inputs
  int splits = 0, nodes = 0;  // of the whole graph; 0 where only sizes were asked for
  // Of each device, the CPU last.
  std::vector<int64_t> model, full, sliding, recurrent, compute;
  // Of the drafter's own context: a separate draft model, or the model's draft head (whose weights
  // are the model's).
  std::vector<int64_t> draft_model, draft_cache, draft_compute;
  int64_t output = 0, draft_output = 0;  // logits in host memory

  int64_t context(size_t device) const {
    return saturating_add(saturating_add(full[device], sliding[device]), recurrent[device]);
  }
  int64_t draft_total(size_t device) const;
  void clear_draft(size_t device) {
    draft_model[device] = draft_cache[device] = draft_compute[device] = 0;
  }
  // Everything on a device except what the driver and the runtime take.
  int64_t total(size_t device) const;
};

// Is memory really allocated, or only measured (fit, dry runs)?
enum class Pass { real, measured };
enum class Pipeline { allowed, off };
// Compute buffers from the folded model (fold.h), or from every layer with the graph's nodes and
// splits.
enum class Graphs { folded, whole };

// Measures ways of running one model on one machine. Keeps its buffers between calls.
class Budgeter {
 public:
  Budgeter(const Shape& shape, const weights::GgufModel& gguf, const Rules& rules,
           const json::Value& profile, const Hardware& hardware, const Request& request,
           ComputeMemo* memo = nullptr);

  Budget measure(const ContextSettings& context, const PlacementSettings& placement, Pass pass,
                 Pipeline pipeline = Pipeline::allowed, Graphs graphs = Graphs::folded);

  const std::vector<BackendProfile>& backends() const { return backends_; }
  size_t devices() const { return backends_.size() - 1; }
  const Shape& shape() const { return shape_; }

 private:
  Budget measure_joined(const ContextSettings& context, const PlacementSettings& placement,
                        Pass pass, Graphs graphs);
  ComputePlan plan_of(Graphs graphs, const GraphInput& input, const ScheduleOptions& schedule);
  ComputePlan compute_of(Graphs graphs, const GraphInput& input, const Placement& placement,
                         const PlacementSettings& settings, const ScheduleOptions& schedule);

  const Shape& shape_;
  const weights::GgufModel& gguf_;
  const Rules& rules_;
  const Request& request_;
  ComputeMemo* memo_;
  std::vector<BackendProfile> backends_;
  std::string backends_key_;
  std::vector<double> free_shares_;
  ComputePlanner planner_;
  FoldedModel folded_, one_more_;  // the second with one round of layers more
  // The last placement, how it was asked for, and its number among those of this machine.
  Placement placed_;
  PlacementSettings placed_as_;
  size_t placement_number_ = 0;
};

}  // namespace vramwise::engines::llamacpp
