// Verdicts in order, for whoever compares two plans.
#pragma once

#include "plan/verdict.h"

namespace vramwise::plan {

// Smaller is better.
constexpr int rank(Outcome outcome) {
  switch (outcome) {
    case Outcome::fits: return 0;
    case Outcome::tight: return 1;
    case Outcome::does_not_fit: return 2;
    case Outcome::refuses_to_start: return 3;
  }
  return 3;
}

}  // namespace vramwise::plan
