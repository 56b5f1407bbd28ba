// Names that came from a file: shown in messages, looked at for doubles.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "base/sort.h"

namespace vramwise::formats {

// Printable and short.
inline std::string shown(std::string_view name) {
  constexpr size_t kLongest = 100;
  std::string text;
  for (const char c : name.substr(0, kLongest)) text += c >= ' ' && c < 127 ? c : '?';
  return text + (name.size() > kLongest ? "…" : "");
}

// The first item (anything with a `name`) whose name an earlier one has; nullptr when there is
// none. By sorting: comparing each with each would take hours for a hostile million.
template <class Item>
const Item* first_duplicate(const std::vector<Item>& items) {
  std::vector<uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0U);
  sort_stable(order, [&](uint32_t a, uint32_t b) {
    const int compared = items[a].name.compare(items[b].name);
    return compared != 0 ? compared < 0 : a < b;
  });
  for (size_t i = 1; i < order.size(); ++i) {
    if (items[order[i - 1]].name == items[order[i]].name) return &items[order[i]];
  }
  return nullptr;
}

}  // namespace vramwise::formats
