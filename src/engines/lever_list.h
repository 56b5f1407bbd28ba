// Changes that an engine proposes, collected.
#pragma once

#include <string>
#include <vector>

#include "engines/engine.h"

namespace vramwise::engines {

// Adds a change to the list. The reference holds until the next one is added; what changes in the
// question is set through it.
LeverCandidate& add_lever(std::vector<LeverCandidate>& list, std::string id, int order,
                          std::string change, std::string option, std::string cost);

// The same model in other weights: a change of checkpoint, not of an option.
void add_format_lever(std::vector<LeverCandidate>& list, int order, std::string change,
                      std::string format);

}  // namespace vramwise::engines
