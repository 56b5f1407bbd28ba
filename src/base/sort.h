// Sorting whose code is made once. An instance of std::sort or std::stable_sort is two to five
// kilobytes in the page's module, and there were forty; an instance of this is the comparison and a
// loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace vramwise {

// True when item `a` of the sequence behind `context` comes before item `b`.
using ItemLess = bool(const void* context, uint32_t a, uint32_t b);

// Which item goes to each place; equal ones keep their order. A merge sort, O(n) on a sorted
// sequence.
std::vector<uint32_t> stable_order(size_t count, ItemLess* less, const void* context);

// Like std::stable_sort; `items` is a vector, an array or a span of less than 2^32.
template <class Items, class Less = std::less<>>
void sort_stable(Items&& items, Less less = {}) {
  auto* const at = items.data();
  struct Context {
    decltype(at) first;
    Less* less;
  } context{at, &less};
  std::vector<uint32_t> from = stable_order(
      items.size(),
      [](const void* c, uint32_t a, uint32_t b) -> bool {
        const Context& all = *static_cast<const Context*>(c);
        return (*all.less)(all.first[a], all.first[b]);
      },
      &context);
  // Along each cycle of the permutation.
  for (uint32_t start = 0; start < from.size(); ++start) {
    if (from[start] == start) continue;
    auto held = std::move(at[start]);
    uint32_t to = start;
    while (from[to] != start) {
      const uint32_t next = std::exchange(from[to], to);
      at[to] = std::move(at[next]);
      to = next;
    }
    at[to] = std::move(held);
    from[to] = to;
  }
}

}  // namespace vramwise
