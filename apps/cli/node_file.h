// A node as people write it down: YAML or JSON, short forms beside the contract's own names.
#pragma once

#include <string>

#include "base/result.h"
#include "json/value.h"

namespace vramwise::cli {

// The request {"ask":"node", …} that a file means (docs/node-files.md); "-" reads standard input.
// Errors: not_found, invalid_input with the file and the place in it.
Result<json::Value> read_node_file(const std::string& path);

// The places of faults in an answer to such a request, as places in the file.
void name_node_file(json::Value& answer, const std::string& path);

}  // namespace vramwise::cli
