// The memory of every device with its bars: what the engine takes, what is left for the cache, how
// many blocks that makes.
#pragma once

#include <vector>

#include "engines/engine.h"
#include "engines/vllm/build.h"

namespace vramwise::engines::vllm {

struct DeviceBudget {
  int device = 0;
  const Stage* stage = nullptr;
  VllmTotals totals;
  Bytes total;
  ByteRange weights, activations, non_torch, graphs;  // graphs: the estimate
  ByteRange graphs_taken;                             // what the capture will really take
  // Kept by PyTorch since the warm-up and given back by the first capture: the printed difference
  // of free memory is so much less.
  Bytes freed_by_capture;
  // At most: what loading freed of the pool of sleep mode. vLLM takes it for free twice, so that
  // the cache may grow by it beyond the share.
  Bytes released;
  ByteRange before_snapshot;
  ByteRange free_at_start;  // at the init snapshot
  ByteRange available;      // for the cache
};

struct Budget {
  std::vector<DeviceBudget> devices;  // those that hold a rank
  int fullest = 0;                    // index of the one with the fewest blocks
  int64_t blocks = 0;                 // that every device can hold
  int64_t blocks_low = 0, blocks_high = 0;
  int64_t max_model_len = 0;  // after auto-fit
  const DeviceBudget& full() const { return devices[size_t(fullest)]; }
  const VllmShape& shape() const { return full().stage->shape; }
};

Budget budget_of(const Question& question, const Build& build);

}  // namespace vramwise::engines::vllm
