// Terms that a log prints only in sums: taken apart once all is read.
#pragma once

#include "verify/log.h"

namespace vramwise::verify {

// vLLM's usage line since 0.24 prints "consumed" (weights and what is outside of torch) and an
// activation peak that holds the graph estimate. Adds the readings "non_torch" and "activation" of
// every rank that printed such sums. May be called again after more was read.
void derive_terms(Log& log);

}  // namespace vramwise::verify
