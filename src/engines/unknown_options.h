// Options that an engine does not have, and those that move memory and that no number follows:
// named, never silently dropped.
#pragma once

#include <string_view>

#include "base/note.h"
#include "base/result.h"
#include "engines/options.h"

namespace vramwise::engines {

// Warns of them. `engine` is its id in the option tables ("llamacpp"), `name` as people write it.
// Keys below a known name are its own business ("kv_transfer_config.x", "hf_overrides.y").
// Errors: internal when the build lacks the engine's names.
Result<void> warn_of_options(const Options& options, std::string_view engine, std::string_view name,
                             Notes& notes);

}  // namespace vramwise::engines
