// From requirements to a verdict.
#pragma once

#include <string>
#include <string_view>

#include "engines/engine.h"

namespace vramwise::plan {

enum class Outcome { fits, tight, does_not_fit, refuses_to_start };
std::string_view to_string(Outcome outcome);

struct Verdict {
  Outcome outcome = Outcome::fits;
  bool starts = true;
  std::string binding;       // what decides: "kv_cache", "weights", "utilisation", …
  std::string explanation;   // why, in one sentence; empty when it simply fits
  std::string engine_error;  // the message the engine itself would print; empty if none
  Bytes shortfall;           // likely bytes missing at the deciding requirement; 0 when none
};

// `fits` only where the pessimistic end of every bar fits; `tight` where a requirement is decided
// inside its bars; the first requirement that fails beyond them decides otherwise.
Verdict judge(const engines::Assessment& assessment);

}  // namespace vramwise::plan
