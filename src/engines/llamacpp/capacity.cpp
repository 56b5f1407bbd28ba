#include "engines/llamacpp/capacity.h"

#include <algorithm>

#include "base/checked.h"

namespace vramwise::engines::llamacpp {
namespace {

constexpr int64_t kMostSlots = 256;  // LLAMA_MAX_SEQ
constexpr int64_t kCells = 256;      // contexts come in steps of this many tokens
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
    Budget budget = budgeter_.measure(c, q_.placement, Pass::real);
    if (q_.beside) q_.beside(c, budget);
    return excess_of(budget, q_.room);
  }

  // Largest multiple of `step` up to `limit` without excess. Memory grows almost linearly, so that
  // false position needs few budgets; `at` (with its excess) is a point known already.
  template <class Excess>
  int64_t largest(int64_t step, int64_t limit, int64_t at, const Excess& over) {
    int64_t low = 0, high = limit / step;
    if (high < 1) return 0;
    int64_t over_low = 0, over_high = 0;
    bool low_known = false, high_known = false;
    if (q_.known && at % step == 0 && at > 0 && at <= limit) {
      if (q_.known_excess <= 0) {
        low = at / step;
        over_low = q_.known_excess;
        low_known = true;
      } else {
        high = at / step;
        over_high = q_.known_excess;
        high_known = true;
      }
    }
    if (low == high) return high * step;
    if (!high_known) {
      over_high = over(high * step);
      if (over_high <= 0) return high * step;
    }
    if (!low_known) {
      if (high == 1) return 0;
      low = 1;
      over_low = over(step);
      if (over_low > 0) return 0;
    }
    for (int i = 0; i < kMostSteps && high - low > 1; ++i) {
      const double share = double(-over_low) / (double(over_high) - double(over_low));
      int64_t middle = low + int64_t(share * double(high - low));
      if (i > 3) middle = low + (high - low) / 2;  // growth is bent: halve
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

int64_t excess_of(const Budget& b, const std::vector<int64_t>& room) {
  int64_t worst = kInt64Min;
  for (size_t d = 0; d < room.size(); ++d) {
    if (room[d] < 0) continue;
    int64_t used = b.total(d);
    if (d + 1 == room.size()) used = saturating_add(used, saturating_add(b.output, b.draft_output));
    worst = std::max(worst, saturating_subtract(used, room[d]));
  }
  return worst;
}

Capacity find_capacity(Budgeter& budgeter, const CapacityQuestion& q) {
  Capacity capacity;
  const bool limited =
      std::any_of(q.room.begin(), q.room.end(), [](int64_t room) { return room >= 0; });
  if (!limited) return capacity;
  Search search(budgeter, q);
  capacity.users = search.largest(1, kMostSlots, q.users, [&](int64_t users) {
    return search.excess(q.sequence_tokens, users);
  });
  const int64_t longest = std::max(budgeter.shape().train_ctx, q.sequence_tokens);
  if (longest > 0 && q.want_longest) {
    capacity.longest_sequence = search.largest(
        kCells, round_up(longest, kCells), q.sequence_tokens,
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
