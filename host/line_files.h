// What a launch line names on this machine: the model it serves, configurations of its options.
#pragma once

#include "base/result.h"
#include "json/value.h"

namespace vramwise::host {

// Of a request with a launch line: a model that is a file or folder here becomes its "model" (where
// it has none of its own), and configuration files that are here ("--config serve.yaml", the
// Modelfile of `ollama create -f`) its "files". What is not here is left to the warnings of the
// answer. Errors: of read_file.
Result<void> take_files_of_line(json::Value& request);

}  // namespace vramwise::host
