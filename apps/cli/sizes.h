// Sizes as people type them on our own command line.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace vramwise::cli {

// "65536", "64k" = "64K" = 65,536, "1M" = 1,048,576: binary, and the answer shows the number.
Result<int64_t> parse_tokens(std::string_view text, std::string_view option);
// "24GiB", "24GB", "512MiB", "85029027840" (bytes).
Result<int64_t> parse_bytes(std::string_view text, std::string_view option);

}  // namespace vramwise::cli
