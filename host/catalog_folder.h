// Catalog files of one's own beside the embedded ones (`--catalog DIR`).
#pragma once

#include <string>

#include "base/result.h"

namespace vramwise::host {

// Reads DIR/{gpus,models,weights,engines,instances,options,speeds,workloads}/**.json, sorted by
// path, one thing a file in the schemas of catalog/schema; each wins over an embedded entry of its
// id. In models/ a file may also be a model's own config.json, whose id is then its path below
// models/ without ".json" ("models/acme/tiny.json", "models/acme/tiny/config.json": acme/tiny).
// GPUs, models and instances are read as a plan would read them, so that a fault is told with its
// file. Answers how many were added. Errors: not_found (no such folder, or none of those names in
// it), and those of the files.
Result<int> add_catalog_folder(const std::string& folder);

}  // namespace vramwise::host
