// One function a policy; step_engine.cpp chooses.
#pragma once

#include <memory>

#include "workload/engine.h"
#include "workload/meter.h"
#include "workload/scheduler.h"
#include "workload/source.h"

namespace vramwise::workload {

std::unique_ptr<Engine> decode_first(const Scheduler&, const StepTime&, Source&, Meter*, FateSink*);
std::unique_ptr<Engine> prefill_first(const Scheduler&, const StepTime&, Source&, Meter*,
                                      FateSink*);
std::unique_ptr<Engine> slots(const Scheduler&, const StepTime&, Source&, Meter*, FateSink*);

}  // namespace vramwise::workload
