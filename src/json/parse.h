// Text to json::Value. The only door to the JSON library.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace vramwise::json {

struct ParseLimits {
  int64_t bytes = int64_t{64} << 20;  // text larger than this is refused before it is read
  int64_t values = 4'000'000;         // scalars, lists and objects together
  int depth = 128;                    // nesting
};

// `source` names the text in errors ("config.json", "request"). Errors: invalid_input with line and
// column for malformed text, too_large beyond a limit.
Result<Value> parse(std::string_view text, std::string_view source, ParseLimits limits = {});

// Line and column (1-based) of a byte offset in a text.
Where locate(std::string_view text, std::string_view source, int64_t offset);

}  // namespace vramwise::json
