// The schedulers step by step, one rule a line: vLLM's with everything it has (prefix caching,
// chunk thresholds), and the two that no other engine here knows, SGLang's and llama.cpp's slots.
// Slower than the event-jumping engine and the measure of it.
#pragma once

#include <memory>

#include "base/result.h"
#include "workload/engine.h"
#include "workload/meter.h"
#include "workload/scheduler.h"
#include "workload/source.h"

namespace vramwise::workload {

// Runs scheduler.policy. `meter` and `sink` may be null. Errors: as `check` in jump_engine.h.
Result<Totals> run_stepwise(const Scheduler& scheduler, const StepTime& time, Source& source,
                            Meter* meter, FateSink* sink, const Limits& limits = {});

// The engine that answers fastest with these settings, which `check` has passed.
std::unique_ptr<Engine> make_engine(const Scheduler& scheduler, const StepTime& time,
                                    Source& source, Meter* meter, FateSink* sink);
Result<Totals> run_engine(const Scheduler& scheduler, const StepTime& time, Source& source,
                          Meter* meter, FateSink* sink, const Limits& limits = {});

}  // namespace vramwise::workload
