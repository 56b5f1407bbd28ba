// Options that an engine does not have: named, with the nearest one it has, never silently dropped.
#pragma once

#include <string_view>

#include "base/note.h"
#include "engines/options.h"
#include "json/value.h"

namespace vramwise::engines {

// `profile` lists the engine's option names under "options", parted by blanks. Keys below a known
// name are its own business ("kv_transfer_config.x", "hf_overrides.y"). `engine` as people write
// it; `ours` is an option that only we have.
void warn_unknown_options(const Options& options, const json::Value& profile,
                          std::string_view engine, Notes& notes, std::string_view ours = {});

}  // namespace vramwise::engines
