// The lines that vLLM prints while it starts, with the numbers it will print.
#pragma once

#include <optional>
#include <vector>

#include "engines/engine.h"
#include "engines/vllm/budget.h"
#include "engines/vllm/startup.h"

namespace vramwise::engines::vllm {

std::vector<LogLine> log_lines(const Build& build, const Budget& budget);
// The pool of one replica, beside what the demand needs of it; empty: a model without a cache.
std::optional<LogCheck> log_check(const Build& build, const Budget& budget, const Demand& demand);

}  // namespace vramwise::engines::vllm
