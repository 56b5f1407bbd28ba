// The three readings of the budget as rows: what a workload needs, what vLLM reserves, and the
// worst moment of the start.
#pragma once

#include "engines/engine.h"
#include "engines/vllm/budget.h"
#include "engines/vllm/startup.h"

namespace vramwise::engines::vllm {

void fill_ledgers(const Question& question, const Build& build, const Budget& budget,
                  const Demand& demand, Assessment& out);

}  // namespace vramwise::engines::vllm
