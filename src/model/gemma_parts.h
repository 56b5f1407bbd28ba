// What Gemma 3n and Gemma 4 share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vramwise::model {

// The layer whose cache each layer uses: its own, except that the last `shared` layers use that of
// the last owning layer of their kind.
std::vector<int64_t> cache_owners(const std::vector<std::string>& types, int64_t shared);

}  // namespace vramwise::model
