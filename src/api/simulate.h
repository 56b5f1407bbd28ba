// {"ask":"simulate"}: a load run through an engine's scheduler on the pool that a plan gives, or on
// one that the question states itself.
#pragma once

#include "api/api.h"
#include "base/result.h"
#include "json/reader.h"
#include "json/value.h"

namespace vramwise::api {

Result<json::Value> simulate(const json::Reader& request, const json::Value& id,
                             const Observer& observer);

// The block for a scheduler, a step and a list of requests given as they are: every event, for
// whoever checks the rules (tests/golden/workload).
Result<json::Value> simulate_scenario(const json::Reader& request, const Observer& observer);

}  // namespace vramwise::api
