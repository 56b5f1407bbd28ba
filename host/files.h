// Local files for the native doors. The core never opens one.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace vramwise::host {

// A whole file, "-" for standard input. Errors: not_found, invalid_input (a folder, unreadable),
// too_large.
Result<std::string> read_file(const std::string& path, int64_t limit_bytes);

bool exists(const std::string& path);
bool is_directory(const std::string& path);

}  // namespace vramwise::host
