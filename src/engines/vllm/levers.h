// What to try when it does not fit, cheapest for the user first.
#pragma once

#include <vector>

#include "engines/engine.h"

namespace vramwise::engines::vllm {

std::vector<LeverCandidate> lever_candidates(const Question& question,
                                             const Assessment& assessment);

}  // namespace vramwise::engines::vllm
