#include "workload/step_engine.h"

#include "workload/jump_engine.h"
#include "workload/policies.h"

namespace vramwise::workload {

namespace {

std::unique_ptr<Engine> stepwise(const Scheduler& scheduler, const StepTime& time, Source& source,
                                 Meter* meter, FateSink* sink) {
  switch (scheduler.policy) {
    case Policy::decode_first: return decode_first(scheduler, time, source, meter, sink);
    case Policy::prefill_first: return prefill_first(scheduler, time, source, meter, sink);
    case Policy::slots: return slots(scheduler, time, source, meter, sink);
  }
  return nullptr;
}

}  // namespace

Result<Totals> run_stepwise(const Scheduler& scheduler, const StepTime& time, Source& source,
                            Meter* meter, FateSink* sink, const Limits& limits) {
  TRY(check(scheduler));
  return stepwise(scheduler, time, source, meter, sink)->run(limits);
}

std::unique_ptr<Engine> make_engine(const Scheduler& scheduler, const StepTime& time,
                                    Source& source, Meter* meter, FateSink* sink) {
  return can_jump(scheduler) ? jumping(scheduler, time, source, meter, sink)
                             : stepwise(scheduler, time, source, meter, sink);
}

Result<Totals> run_engine(const Scheduler& scheduler, const StepTime& time, Source& source,
                          Meter* meter, FateSink* sink, const Limits& limits) {
  TRY(check(scheduler));
  return make_engine(scheduler, time, source, meter, sink)->run(limits);
}

}  // namespace vramwise::workload
