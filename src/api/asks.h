// The questions of the contract, one function each: the whole request in, the answer's block out.
#pragma once

#include <span>
#include <string_view>

#include "api/api.h"
#include "base/result.h"
#include "json/reader.h"
#include "json/value.h"

namespace vramwise::api {

struct Ask {
  std::string_view name;
  // Answers the whole document, head included; null where the watched form does.
  Result<json::Value> (*answer)(const json::Reader& request, const json::Value& id);
  // The same for questions that may take long: whoever watches can end them, and gets what is
  // known.
  Result<json::Value> (*watched)(const json::Reader& request, const json::Value& id,
                                 const Observer& observer) = nullptr;
};

std::span<const Ask> asks();

// In decisions.cpp.
Result<json::Value> ask_max(const json::Reader& request, const json::Value& id,
                            const Observer& observer);
Result<json::Value> ask_gpus(const json::Reader& request, const json::Value& id,
                             const Observer& observer);
Result<json::Value> ask_models(const json::Reader& request, const json::Value& id);
// In compare.cpp.
Result<json::Value> ask_compare(const json::Reader& request, const json::Value& id);

// In node.cpp.
Result<json::Value> ask_node(const json::Reader& request, const json::Value& id);
// In grid.cpp.
Result<json::Value> ask_grid(const json::Reader& request, const json::Value& id);

}  // namespace vramwise::api
