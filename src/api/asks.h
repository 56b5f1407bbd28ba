// The questions of the contract, one function each: the whole request in, the answer's block out.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "json/reader.h"
#include "json/value.h"

namespace vramwise::api {

struct Ask {
  std::string_view name;
  // Answers the whole document, head included.
  Result<json::Value> (*answer)(const json::Reader& request, const json::Value& id);
};

std::span<const Ask> asks();

}  // namespace vramwise::api
