// The tensors that one matrix becomes in a checkpoint: the weights themselves and what a scheme
// stores beside them. Bytes at rest are their sum; the counts are what model hubs publish.
#pragma once

#include <array>
#include <cstdint>

#include "base/units.h"
#include "weights/scheme.h"

namespace vramwise::weights {

enum class StoredKind {
  weights,       // one element a weight
  packed_words,  // 32-bit words that hold several weights
  packed_bytes,  // bytes that hold two weights
  scales,        // with at least one axis
  zero_points,   // packed 32-bit words, or the biases of MLX
  indices,       // the group of every input (g_idx)
  scalars,  // one number for the whole matrix: some producers give it an axis of one, some none
  shapes,   // the logical shape of a packed matrix
  tables,   // code books and a format's own texts
};
constexpr size_t kStoredKinds = 9;

struct StoredPart {
  StoredKind kind = StoredKind::weights;
  int64_t element_bytes = 0;
  int64_t elements = 0;
};

// At most six, in the order of the file.
struct StoredParts {
  std::array<StoredPart, 6> parts;
  size_t count = 0;

  void add(StoredKind kind, int64_t element_bytes, int64_t elements);
  Bytes bytes() const;
};

// What a [out, in] matrix becomes.
StoredParts stored_parts(const Scheme& scheme, int64_t in, int64_t out);

// Elements of a checkpoint by kind.
using StoredCounts = std::array<int64_t, kStoredKinds>;

}  // namespace vramwise::weights
