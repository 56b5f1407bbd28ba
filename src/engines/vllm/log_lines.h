// The lines that vLLM prints while it starts, with the numbers it will print.
#pragma once

#include <vector>

#include "engines/engine.h"
#include "engines/vllm/budget.h"

namespace vramwise::engines::vllm {

std::vector<LogLine> log_lines(const Build& build, const Budget& budget);

}  // namespace vramwise::engines::vllm
