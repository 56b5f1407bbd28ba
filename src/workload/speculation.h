// Speculative decoding of the plan's engine in a simulated load: how many tokens a step drafts, and
// what drafting and checking add to the step.
#pragma once

#include <optional>

#include "base/note.h"
#include "base/result.h"
#include "plan/plan.h"
#include "workload/scheduler.h"
#include "workload/step_model.h"

namespace vramwise::workload {

// `acceptance`: share of the drafted tokens that is accepted, each after the one before it. Without
// it nothing is drafted, and a plan that drafts is warned about.
// Errors: inconsistent for an acceptance where the plan drafts nothing.
Result<bool> apply_speculation(const plan::Plan& plan, std::optional<double> acceptance,
                               Scheduler& scheduler, StepModel& step, Notes& notes);

}  // namespace vramwise::workload
