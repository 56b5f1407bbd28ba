// A JSON value as block YAML, for the manifests that we write. The reader of yaml.h, PyYAML, Go's
// and Compose's readers all get the same value back: a text that any of them could take for a
// number, a boolean or null stands in quotes.
#pragma once

#include <string>

#include "json/value.h"

namespace vramwise::engines::launch {

// Ends with a newline. Members keep their order; text of several lines comes as a literal block.
std::string write_yaml(const json::Value& value);

}  // namespace vramwise::engines::launch
