// From a log that was set beside its plan to a run that later plans can use (plan/calibration.h).
#pragma once

#include "json/value.h"
#include "plan/plan.h"
#include "verify/log.h"

namespace vramwise::verify {

// null when the log prints no term that moves a plan.
json::Value measured_run(const Log& log, const plan::Plan& plan);

}  // namespace vramwise::verify
