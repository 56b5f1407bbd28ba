// Options that an engine does not have, and those that move memory and that no number follows:
// named, never silently dropped.
#pragma once

#include <map>
#include <string>
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

// Warns of variables named like the engine's own that it does not have.
void warn_of_variables(const std::map<std::string, std::string>& env, std::string_view engine,
                       std::string_view name, Notes& notes);

// Those that the engine has, for the command: it refuses to start with others. All of them where
// the build lacks the engine's names, which warn_of_options reports.
Options known_options(const Options& options, std::string_view engine);

}  // namespace vramwise::engines
