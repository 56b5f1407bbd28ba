#include "engines/torch_blocks.h"

namespace vramwise::engines {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kOwnSegment = 10 * kMiB;   // kMinLargeAlloc
constexpr int64_t kSegmentStep = 2 * kMiB;   // kRoundLarge
constexpr int64_t kLargestUncut = 1 * kMiB;  // kSmallSize

}  // namespace

Bytes block_slack(Bytes asked) {
  if (asked.count() < kOwnSegment) return Bytes();
  const int64_t over = round_up(asked.count(), kSegmentStep) - asked.count();
  return Bytes(over <= kLargestUncut ? over : 0);
}

void ParameterBlocks::add_part(size_t group, int32_t layer, Bytes part) {
  Open& open = open_[group];
  if (open.layer != layer) {
    add(open.bytes);
    open = {layer, Bytes()};
  }
  open.bytes += part;
}

Bytes ParameterBlocks::finish() {
  for (Open& open : open_) {
    add(open.bytes);
    open = {};
  }
  return slack_;
}

}  // namespace vramwise::engines
