// Which versions of an engine its rules were read from or held against: catalog/engines/<id>.json,
// "oldest", "newest" and "checked". A version outside of them is planned by the nearest rules, and
// the answer says so.
#pragma once

#include <string_view>

#include "base/note.h"
#include "base/result.h"
#include "engines/options.h"

namespace vramwise::engines {

// Warns of a version newer than the newest or older than the oldest known; notes as an assumption
// one between them that nothing was held against. Nothing where no version is given.
// `engine` is its id in the catalog ("llama.cpp", "vllm"). Errors: internal for a faulty entry.
Result<void> note_version(const Version& version, std::string_view engine, Notes& notes);

}  // namespace vramwise::engines
