// How much larger than asked PyTorch's CUDA allocator makes the blocks that parameters live in.
//
// From 10 MiB on, a tensor gets a segment of its own, rounded up to 2 MiB. What is left over is cut
// off only when it is more than 1 MiB; otherwise the block keeps it, and `memory_allocated`, which
// is what engines print after loading, counts it. Smaller tensors share segments of 20 MiB: their
// rounding depends on the order of everything before them and is not counted here (at most 1 MiB of
// every 20).
//
// Source: pytorch c10/cuda/CUDACachingAllocator.cpp: get_allocation_size, should_split.
// Measured: Qwen3-32B bf16 on 8 ranks 48 MiB (49.4 logged), Qwen2.5-14B bf16 on 4 ranks 60 (61.2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace vramwise::engines {

// What one block of `asked` bytes holds beyond them.
Bytes block_slack(Bytes asked);

// Sums the slack of a model's parameters. Parts of merged parameters are added up per layer first.
class ParameterBlocks {
 public:
  static constexpr size_t kGroups = 8;

  void add(Bytes parameter, int64_t copies = 1) { slack_ += block_slack(parameter) * copies; }
  // A part of the parameter `group` of a layer; parts of one layer follow each other.
  void add_part(size_t group, int32_t layer, Bytes part);
  // The sum; ends the parameters that are still open.
  Bytes finish();

 private:
  struct Open {
    int32_t layer = -1;
    Bytes bytes;
  };
  std::array<Open, kGroups> open_;
  Bytes slack_;
};

}  // namespace vramwise::engines
