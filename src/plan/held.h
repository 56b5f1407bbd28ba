// What a program holds once it runs.
#pragma once

#include "engines/engine.h"

namespace vramwise::plan {

// What the engine takes up front, or what the work needs where it takes nothing up front.
inline const engines::Ledger& held_ledger(const engines::Assessment& assessment) {
  return assessment.primary == engines::Reading::need ? assessment.need : assessment.reserve;
}

}  // namespace vramwise::plan
