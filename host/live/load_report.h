// What a load test found, as the JSON document that its text and its page are drawn from.
#pragma once

#include <optional>

#include "host/live/load_run.h"
#include "host/live/plan_view.h"
#include "json/value.h"

namespace vramwise::host {

// {"schema_version":1,"loadtest":{…}}; docs/live.md lists the members.
json::Value load_report(const LoadResult& result, const std::optional<PlanView>& plan);

// 0 held, 1 errors, memory that did not settle or a test that stopped itself, 130 interrupted.
int load_exit_status(const json::Value& report);

}  // namespace vramwise::host
