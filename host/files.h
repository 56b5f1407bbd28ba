// Local files for the native doors. The core never opens one.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace vramwise::host {

// A whole file, "-" for standard input. Errors: not_found, invalid_input (a folder, unreadable),
// too_large.
Result<std::string> read_file(const std::string& path, int64_t limit_bytes);

bool exists(const std::string& path);
bool is_directory(const std::string& path);

// The "model" member of a request for a local path: a config.json, or a folder that holds one (with
// hf_quant_config.json beside it where there is).
Result<json::Value> model_from_path(const std::string& path);

}  // namespace vramwise::host
