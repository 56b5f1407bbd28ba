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

// In decisions.cpp.
Result<json::Value> ask_max(const json::Reader& request, const json::Value& id);
Result<json::Value> ask_gpus(const json::Reader& request, const json::Value& id);
Result<json::Value> ask_models(const json::Reader& request, const json::Value& id);
// In compare.cpp.
Result<json::Value> ask_compare(const json::Reader& request, const json::Value& id);

// In node.cpp.
Result<json::Value> ask_node(const json::Reader& request, const json::Value& id);
// In grid.cpp.
Result<json::Value> ask_grid(const json::Reader& request, const json::Value& id);

}  // namespace vramwise::api
