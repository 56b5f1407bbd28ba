// A local file as a byte source: pread, never the whole file.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "formats/byte_source.h"

namespace vramwise::host {

// Errors: not_found, invalid_input for what cannot be opened or is no regular file.
Result<std::unique_ptr<formats::ByteSource>> open_file(const std::string& path);

// Names of the entries of a folder, sorted; files only.
Result<std::vector<std::string>> list_files(const std::string& folder);

}  // namespace vramwise::host
