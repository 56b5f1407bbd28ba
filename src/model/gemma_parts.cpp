#include "model/gemma_parts.h"

#include <algorithm>

namespace vramwise::model {

std::vector<int64_t> cache_owners(const std::vector<std::string>& types, int64_t shared) {
  const int64_t layers = int64_t(types.size());
  const int64_t owning = std::max<int64_t>(0, layers - shared);
  std::vector<int64_t> owners(types.size());
  for (int64_t i = 0; i < layers; ++i) {
    int64_t owner = i;
    if (i >= owning) {
      owner = owning - 1;
      while (owner >= 0 && types[size_t(owner)] != types[size_t(i)]) --owner;
    }
    // Nothing to share with: the layer keeps its own.
    owners[size_t(i)] = owner >= 0 ? owner : i;
  }
  return owners;
}

}  // namespace vramwise::model
