// The options of `plan` and its kin as one table: the parser, the help and (later) completions and
// the manual come from it. Each row says how the flag becomes a part of the JSON request.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace vramwise::cli {

struct OptionSpec {
  std::string_view names;  // CLI11 spelling: "--gpu", "-c,--ctx"
  std::string_view value;  // placeholder, "ID"; empty: a flag without value
  std::string_view group;  // Model, Hardware, Workload, Engine
  std::string_view help;
  bool repeatable = false;
  // Puts the value into the request. `flag` is the spelling for errors.
  Result<bool> (*apply)(json::Value& request, const std::string& value, std::string_view flag);
};

std::span<const OptionSpec> request_options();

}  // namespace vramwise::cli
