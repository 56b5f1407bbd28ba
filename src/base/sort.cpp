#include "base/sort.h"

#include <algorithm>
#include <numeric>

namespace vramwise {

std::vector<uint32_t> stable_order(size_t count, ItemLess* less, const void* context) {
  std::vector<uint32_t> order(count), merged(count);
  std::iota(order.begin(), order.end(), 0U);
  // Short runs by insertion, then runs of twice the length by merging two neighbours.
  constexpr size_t kRun = 8;
  for (size_t begin = 0; begin < count; begin += kRun) {
    const size_t end = std::min(begin + kRun, count);
    for (size_t i = begin + 1; i < end; ++i) {
      const uint32_t item = order[i];
      size_t place = i;
      for (; place > begin && less(context, item, order[place - 1]); --place) {
        order[place] = order[place - 1];
      }
      order[place] = item;
    }
  }
  for (size_t run = kRun; run < count; run *= 2) {
    for (size_t begin = 0; begin < count; begin += 2 * run) {
      const size_t middle = std::min(begin + run, count), end = std::min(middle + run, count);
      size_t left = begin, right = middle, out = begin;
      // Two runs that are in order already are copied as they are.
      if (right < end && less(context, order[right], order[right - 1])) {
        while (left < middle && right < end) {
          merged[out++] = less(context, order[right], order[left]) ? order[right++] : order[left++];
        }
      }
      while (left < middle) merged[out++] = order[left++];
      while (right < end) merged[out++] = order[right++];
    }
    order.swap(merged);
  }
  return order;
}

}  // namespace vramwise
