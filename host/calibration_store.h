// Runs that were measured here: $XDG_CONFIG_HOME/vramwise/calibration.json, else
// ~/.config/vramwise/calibration.json. One JSON object, {"schema_version":1,"runs":[…]}; a run as
// in plan/calibration.h. Two processes may write at once: each holds a lock file while it reads,
// changes and replaces the file.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "json/value.h"

namespace vramwise::host {

// "" when there is no home.
std::string calibration_path();

// The runs, an empty list when none were saved. Errors: a file that is not one of ours.
Result<json::Value> load_calibration();

// Replaces the runs by what `change` makes of them. Errors: no home, unwritable, as load.
Result<bool> change_calibration(const std::function<Result<bool>(json::Array& runs)>& change);

}  // namespace vramwise::host
