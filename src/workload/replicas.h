// Several equal servers behind a router: each has a pool and a queue of its own, so they are never
// one server several times as large.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/load.h"
#include "workload/meter.h"
#include "workload/scheduler.h"
#include "workload/source.h"

namespace vramwise::workload {

enum class Router {
  // In turn (SGLang's default, nginx's, a Kubernetes service's on average).
  round_robin,
  // Who has least to do by vLLM's count, 4·waiting + running; ties in turn.
  // Source: vllm v1/engine/core_client.py, DPLBAsyncMPClient. The counts there are up to 100 ms
  // old,
  // here they are of the step that runs.
  least_requests,
};
std::string_view to_string(Router router);
Result<Router> router_of(std::string_view name);

// One run of `meters.size()` servers fed by one source, whose requests follow from nobody's answer
// (see follows_answers). Totals are sums, peaks the largest of any server.
Result<Totals> run_replicas(const Scheduler& scheduler, const StepTime& time, Source& source,
                            Router router, std::vector<Meter>& meters, const Limits& limits);

// Whether requests follow from answers (people who wait, conversations): those stay with their
// server, so the load is split between the servers beforehand.
bool follows_answers(const Arrivals& arrivals, const Trace* trace);

}  // namespace vramwise::workload
