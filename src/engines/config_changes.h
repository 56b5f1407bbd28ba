// Options of a server that change the model's config.json before anything is built: another rope
// scaling, a longer window, fewer layers.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "engines/options.h"
#include "json/value.h"

namespace vramwise::engines {

// One object of the keys to replace; null when none of the options is given. `whole` options hold
// such an object (or its JSON as text), `keys` are single keys of the config under their own names.
// Errors: invalid_input for text that is no JSON object.
Result<json::Value> config_changes(const Options& options, std::span<const std::string_view> whole,
                                   std::span<const std::string_view> keys = {});

// Puts the changes into a config: objects are merged key by key, everything else is replaced. The
// two names of the rope parameters (transformers 4 and 5) stand for one thing.
void apply_config_changes(json::Value& config, const json::Value& changes);

}  // namespace vramwise::engines
