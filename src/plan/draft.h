// The draft model of speculative decoding: named by the request, or by the engine's own options.
#pragma once

#include "base/result.h"
#include "plan/request.h"
#include "plan/resolve.h"

namespace vramwise::plan {

// Fills draft_model and draft_weights of `resolved`, whose engine and model are settled. A name in
// the options that the catalog does not have is a note, and the engine estimates; one in the
// request itself is an error, as for the model.
Result<bool> resolve_draft(const Request& request, Resolved& resolved);

}  // namespace vramwise::plan
