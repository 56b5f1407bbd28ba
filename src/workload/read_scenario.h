// The parts of a question that describe a scheduler, a step and single requests, read and bounded.
// docs/json-contract.md lists the members.
#pragma once

#include <string>
#include <vector>

#include "base/note.h"
#include "base/result.h"
#include "json/reader.h"
#include "workload/scheduler.h"
#include "workload/source.h"

namespace vramwise::workload {

// Members that are present replace those of `scheduler`.
Result<bool> read_scheduler(const json::Reader& from, Scheduler& scheduler);
// The same for the step: {"fixed","per_decode","per_context_token","per_prefill_token"}, in the
// unit that "unit" names: "seconds" (default), "nanoseconds" or "steps".
Result<bool> read_step_time(const json::Reader& from, StepTime& time, std::string& unit);
// [{"arrival":0,"prompt":5,"output":3,"stream":"sys","stream_tokens":12},…]
Result<std::vector<Arrival>> read_requests(const json::Reader& from);

}  // namespace vramwise::workload
