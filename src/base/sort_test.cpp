#include "base/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>

namespace vramwise {
namespace {

uint64_t next(uint64_t& state) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return state >> 33;
}

TEST(Sort, AsTheStandardLibraryDoesAtEveryLength) {
  uint64_t state = 7;
  for (size_t count = 0; count < 300; ++count) {
    // Few keys, so that equal ones are many; the second member tells them apart.
    std::vector<std::pair<std::string, size_t>> items;
    for (size_t i = 0; i < count; ++i) items.push_back({std::to_string(next(state) % 17), i});
    auto wanted = items;
    const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::stable_sort(wanted.begin(), wanted.end(), less);
    sort_stable(items, less);
    EXPECT_EQ(items, wanted);
  }
}

TEST(Sort, SortedInReverseAndLarge) {
  std::vector<int64_t> up(100'000);
  for (size_t i = 0; i < up.size(); ++i) up[i] = int64_t(i);
  auto items = up;
  sort_stable(items);
  EXPECT_EQ(items, up);
  std::reverse(items.begin(), items.end());
  sort_stable(items);
  EXPECT_EQ(items, up);
}

TEST(Sort, ASortedSequenceIsReadOnce) {
  std::vector<int> items(4096);
  for (size_t i = 0; i < items.size(); ++i) items[i] = int(i);
  size_t asked = 0;
  sort_stable(items, [&](int a, int b) {
    ++asked;
    return a < b;
  });
  EXPECT_LT(asked, items.size() + items.size() / 4);
}

TEST(Sort, PartsAndThingsThatCannotBeCopied) {
  std::vector<std::unique_ptr<int>> items;
  for (const int n : {5, 4, 3, 2, 1}) items.push_back(std::make_unique<int>(n));
  sort_stable(std::span(items).subspan(1), [](const auto& a, const auto& b) { return *a < *b; });
  std::vector<int> numbers;
  for (const auto& item : items) numbers.push_back(*item);
  EXPECT_EQ(numbers, (std::vector<int>{5, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace vramwise
