// Arithmetic that the schemes share between the checkpoint and GPU memory.
#pragma once

#include <cstdint>

#include "base/checked.h"
#include "weights/scheme.h"

namespace vramwise::weights {

constexpr int64_t kNvfp4Group = 16;  // weights per fp8 scale
constexpr int64_t kMxGroup = 32;     // weights per e8m0 scale
constexpr int64_t kNf4Block = 64;    // weights per absmax of bitsandbytes

// Bits of a packed weight; a scheme that leaves `bits` at its unpacked default means 4.
inline int64_t packed_bits(const Scheme& s) { return s.bits < 16 ? s.bits : 4; }

// Groups of inputs that share a scale; group 0 means the whole row.
inline int64_t groups(const Scheme& s, int64_t in) {
  return s.group > 0 ? ceil_div(in, s.group) : 1;
}

inline int64_t block_scales(const Scheme& s, int64_t in, int64_t out) {
  return saturating_multiply(ceil_div(out, s.block_out), ceil_div(in, s.block_in));
}

}  // namespace vramwise::weights
