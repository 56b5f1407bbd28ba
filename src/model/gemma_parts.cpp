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

void add_gemma3_ropes(Builder& b, int64_t head_dim) {
  const Fields& text = b.text();
  add_rope_table(text, b.model(), head_dim, read_rope_scaling(text, "full_attention"));
  if (b.model().rope_tables.empty()) return;
  RopeTable local = b.model().rope_tables.back();
  local.positions = b.model().max_positions;
  local.rotary_dim = head_dim;
  b.model().rope_tables.push_back(local);
}

void drop_untokenised_rows(Builder& b) {
  constexpr int64_t kTokens = 262144;
  if (b.model().vocab_size > kTokens) b.model().gguf.vocab_rows = kTokens;
}

}  // namespace vramwise::model
