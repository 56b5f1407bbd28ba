// Changes tried one by one and in combination, each a full re-plan.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace vramwise::plan {

// Singles in the engine's order of cost; when the plan does not fit and no single change makes it,
// the cheapest pairs and triples that do. Cheapest first among those that fit.
std::vector<Lever> find_levers(const Resolved& resolved, const engines::Assessment& before,
                               const Verdict& verdict);

}  // namespace vramwise::plan
