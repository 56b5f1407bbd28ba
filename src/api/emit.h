// The manifest of a plan: what an orchestrator runs, made of the plan's own command.
#pragma once

#include <string_view>

#include "base/result.h"
#include "json/value.h"
#include "plan/plan.h"

namespace vramwise::api {

// {"kind":"k8s","text":"apiVersion: …"}. Errors: not_found for an unknown kind, unsupported where
// the orchestrator cannot run this engine or this many cards.
Result<json::Value> manifest_block(const plan::Plan& plan, std::string_view kind);

}  // namespace vramwise::api
