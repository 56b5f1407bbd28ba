// The event-jumping simulation of vLLM's scheduler: between two events (an arrival, a finish, the
// pool running dry) every running sequence makes one token a step and nothing else changes, so the
// whole stretch is one move with closed sums. Exact against the step-by-step engine.
//
// Costs 50-150 ns a request. Memory grows with the requests in the system, not with the trace.
#pragma once

#include <memory>

#include "base/result.h"
#include "workload/engine.h"
#include "workload/meter.h"
#include "workload/scheduler.h"
#include "workload/source.h"

namespace vramwise::workload {

// Whether these settings are among those the engine handles; else the step-by-step engine serves.
bool can_jump(const Scheduler& scheduler);

// Settings that can_jump and `check` have passed.
std::unique_ptr<Engine> jumping(const Scheduler& scheduler, const StepTime& time, Source& source,
                                Meter* meter, FateSink* sink);

// `meter` and `sink` may be null. Errors: inconsistent settings (`check`), too_large when more
// requests are in the system than memory allows.
Result<Totals> run_jumping(const Scheduler& scheduler, const StepTime& time, Source& source,
                           Meter* meter, FateSink* sink, const Limits& limits = {});

}  // namespace vramwise::workload
