// One function a policy; step_engine.cpp chooses.
#pragma once

#include "base/result.h"
#include "workload/meter.h"
#include "workload/scheduler.h"
#include "workload/source.h"

namespace vramwise::workload {

Result<Totals> run_decode_first(const Scheduler&, const StepTime&, Source&, Meter*, FateSink*,
                                const Limits&);
Result<Totals> run_prefill_first(const Scheduler&, const StepTime&, Source&, Meter*, FateSink*,
                                 const Limits&);
Result<Totals> run_slots(const Scheduler&, const StepTime&, Source&, Meter*, FateSink*,
                         const Limits&);

}  // namespace vramwise::workload
