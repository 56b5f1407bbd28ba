#include "workload/step_engine.h"

#include "workload/jump_engine.h"
#include "workload/policies.h"

namespace vramwise::workload {

Result<Totals> run_stepwise(const Scheduler& scheduler, const StepTime& time, Source& source,
                            Meter* meter, FateSink* sink, const Limits& limits) {
  TRY(check(scheduler));
  switch (scheduler.policy) {
    case Policy::decode_first:
      return run_decode_first(scheduler, time, source, meter, sink, limits);
    case Policy::prefill_first:
      return run_prefill_first(scheduler, time, source, meter, sink, limits);
    case Policy::slots: return run_slots(scheduler, time, source, meter, sink, limits);
  }
  return fail(ErrorCode::internal, "a policy without an engine");
}

Result<Totals> run_engine(const Scheduler& scheduler, const StepTime& time, Source& source,
                          Meter* meter, FateSink* sink, const Limits& limits) {
  return can_jump(scheduler) ? run_jumping(scheduler, time, source, meter, sink, limits)
                             : run_stepwise(scheduler, time, source, meter, sink, limits);
}

}  // namespace vramwise::workload
