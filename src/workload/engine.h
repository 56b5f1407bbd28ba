// A scheduler that runs: one server, its queue and its clock.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "workload/source.h"

namespace vramwise::workload {

class Engine {
 public:
  virtual ~Engine() = default;
  // Goes on until the load is over, a limit is met, or the clock has reached `until`: then the
  // source may get requests of that time and the engine is asked again. The source answers `until`
  // as its next time while it has nothing earlier.
  // Errors: too_large when more requests wait than memory allows, inconsistent when none can run.
  virtual Result<bool> advance(double until, const Limits& limits) = 0;
  virtual int64_t waiting() const = 0;
  virtual int64_t running() const = 0;
  virtual Totals totals() const = 0;

  Result<Totals> run(const Limits& limits) {
    TRY(advance(kNever, limits));
    return totals();
  }
};

}  // namespace vramwise::workload
