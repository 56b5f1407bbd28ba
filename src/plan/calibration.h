// Runs that were measured on the user's machine, and the plan they apply to.
//
//   {"engine":"vllm","version":"0.11.0","gpu":"h100-sxm","devices":1,"model":"…","family":"…",
//    "weights":"bf16","options":{"max_num_batched_tokens":8192,"max_num_seqs":256},
//    "terms":{"weights":{"planned_bytes":…,"measured_bytes":…},"activations":{…},"non_torch":{…},
//             "graphs":{…}},"source":"run.log"}
//
// A term applies where what it depends on is the same: the weights to the same model in the same
// format, activations besides to the same batch limits, memory outside of torch to the family. A
// run without options is of the very start that is planned: it applies whatever is changed.
#pragma once

#include "base/result.h"
#include "json/value.h"
#include "plan/plan.h"

namespace vramwise::plan {

// Sets resolved.settings.calibration from the runs that apply (none: leaves it) and says so in its
// notes. Errors: invalid_input for a run that is none.
Result<bool> calibrate(const json::Value& runs, Resolved& resolved);

// The options of an assessment that a measured term depends on.
json::Value measured_options(const engines::Assessment& assessment);

}  // namespace vramwise::plan
