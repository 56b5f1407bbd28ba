// Whole runs: a load through a scheduler with a step time, repeated, and the highest rate that
// keeps a promise.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "workload/lengths.h"
#include "workload/load.h"
#include "workload/meter.h"
#include "workload/replicas.h"
#include "workload/scheduler.h"
#include "workload/source.h"
#include "workload/trace.h"

namespace vramwise::workload {

struct Setup {
  Scheduler scheduler;
  StepTime time;
  const Lengths* lengths = nullptr;
  const Trace* trace = nullptr;  // for arrivals of kind trace
  SloTarget slo;
  int64_t requests = 20000;
  int64_t replications = 8;  // and more while `precision` asks for them
  // Repetitions are added until the half width of every figure is within this share of it, or
  // `most_requests` were simulated. 0: as many as `replications` says.
  double precision = 0;
  int64_t most_requests = 0;
  uint64_t seed = 1;
  int64_t replicas = 1;  // equal servers that share the load
  Router router = Router::least_requests;
  Limits limits;
};

// A figure over the repetitions: their mean and the half width of its 95 % interval.
struct Figure {
  double value = 0;
  double half_width = 0;  // 0 with one repetition
};

struct Run {
  Meter meter;        // all repetitions and servers together: seconds are server seconds
  Timeline timeline;  // of the first repetition, of its first server
  Totals totals;      // summed; peaks are the largest
  Figure occupancy_p99, ttft_p99, throughput;
  int64_t replications = 0;
  int64_t servers = 1;  // that had a part of the load
  bool stopped = false;
  bool whole = false;  // too short for a warm-up: everything was measured, drain included
  // Largest half width over its figure, of the three; 0 with one repetition.
  double uncertainty() const;
};

Result<Run> run_load(const Setup& setup, const Arrivals& arrivals);

struct Goodput {
  double rate = 0;       // requests a second
  double share = 0;      // of the requests within the promise at that rate
  bool stopped = false;  // by the caller: higher rates were not tried
  bool bounded = true;   // false: the promise holds up to the search's end
};
// The highest rate of these arrivals at which the quantile of the promise is kept. `most` bounds
// the search. The same random numbers serve every rate, so the answer does not jitter.
Result<Goodput> find_goodput(const Setup& setup, Arrivals arrivals, double most);

}  // namespace vramwise::workload
