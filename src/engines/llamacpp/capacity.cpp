#include "engines/llamacpp/capacity.h"

#include <algorithm>

#include "base/checked.h"

namespace vramwise::engines::llamacpp {
namespace {

constexpr int64_t kMostSlots = 256;   // LLAMA_MAX_SEQ
constexpr int64_t kCells = 256;       // contexts come in steps of this many tokens
constexpr int kMostSteps = 12;

class Search {
 public:
  Search(Budgeter& budgeter, const CapacityQuestion& question)
      : budgeter_(budgeter), q_(question) {}

  // Bytes by which the fullest device is over its room.
  int64_t excess(int64_t tokens, int64_t users) {
    ContextSettings c = q_.context;
    c.sequences = users;
    c.unified = q_.context.unified && users == q_.context.sequences;
    c.n_ctx = saturating_multiply(round_up(tokens, kCells), users);
    if (c.output_rows > 0 && c.output_rows == q_.context.sequences) c.output_rows = users;
    const Budget b = budgeter_.measure(c, q_.placement, Pass::real);
    int64_t worst = kInt64Min;
    for (size_t d = 0; d < q_.room.size(); ++d) {
      if (q_.room[d] < 0) continue;
      int64_t used = b.total(d);
      if (d + 1 == q_.room.size()) used = saturating_add(used, b.output);
      worst = std::max(worst, saturating_subtract(used, q_.room[d]));
    }
    return worst;
  }

  // Largest multiple of `step` in [step, limit] with excess <= 0; memory grows almost linearly, so
  // that false position needs few budgets.
  template <class Excess>
  int64_t largest(int64_t step, int64_t limit, const Excess& over) {
    int64_t high = limit / step, low = 1;
    if (high < 1) return 0;
    int64_t over_high = over(high * step);
    if (over_high <= 0) return high * step;
    int64_t over_low = high == 1 ? over_high : over(step);
    if (over_low > 0) return 0;
    for (int i = 0; i < kMostSteps && high - low > 1; ++i) {
      const double share = double(-over_low) / (double(over_high) - double(over_low));
      int64_t middle = low + int64_t(share * double(high - low));
      // Every other step halves, in case growth is bent.
      if (i % 2 == 1) middle = std::min(middle + 1, high - 1);
      middle = std::clamp(middle, low + 1, high - 1);
      const int64_t over_middle = over(middle * step);
      if (over_middle <= 0) {
        low = middle;
        over_low = over_middle;
      } else {
        high = middle;
        over_high = over_middle;
      }
    }
    return low * step;
  }

 private:
  Budgeter& budgeter_;
  const CapacityQuestion& q_;
};

}  // namespace

Capacity find_capacity(Budgeter& budgeter, const CapacityQuestion& q) {
  Capacity capacity;
  const bool limited =
      std::any_of(q.room.begin(), q.room.end(), [](int64_t room) { return room >= 0; });
  if (!limited) return capacity;
  Search search(budgeter, q);
  capacity.users = search.largest(
      1, kMostSlots, [&](int64_t users) { return search.excess(q.sequence_tokens, users); });
  const int64_t longest = std::max(budgeter.shape().train_ctx, q.sequence_tokens);
  if (longest > 0) {
    capacity.longest_sequence = search.largest(
        kCells, round_up(longest, kCells),
        [&](int64_t tokens) { return search.excess(tokens, std::max<int64_t>(1, q.users)); });
    capacity.longest_sequence = std::min(capacity.longest_sequence, longest);
  }
  return capacity;
}

int64_t smallest_that(int64_t low, int64_t high, const std::function<bool(int64_t)>& holds) {
  while (low <= high) {
    const int64_t middle = low + (high - low) / 2;
    if (holds(middle)) {
      high = middle - 1;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace vramwise::engines::llamacpp
