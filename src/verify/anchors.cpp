#include "verify/anchors.h"

#include <algorithm>

#include "base/sort.h"

namespace vramwise::verify {
namespace {

size_t block(const char* at) { return size_t(uint8_t(at[0])) << 8 | uint8_t(at[1]); }

}  // namespace

Anchors::Anchors(std::vector<std::string_view> words)
    : words_(std::move(words)), shift_(65536), ends_(65536) {
  window_ = SIZE_MAX;
  for (const std::string_view word : words_) {
    if (word.size() >= kShortest) window_ = std::min(window_, word.size());
  }
  if (window_ == SIZE_MAX) window_ = kShortest;
  window_ = std::min<size_t>(window_, 200);
  std::fill(shift_.begin(), shift_.end(), uint8_t(window_ - 1));
  for (size_t w = 0; w < words_.size(); ++w) {
    if (words_[w].size() < kShortest) continue;
    for (size_t i = 0; i + 2 <= window_; ++i) {
      uint8_t& s = shift_[block(words_[w].data() + i)];
      s = std::min(s, uint8_t(window_ - 2 - i));
    }
    ends_[block(words_[w].data() + window_ - 2)].push_back(int(w));
  }
  for (std::vector<int>& list : ends_) {
    sort_stable(list,
                [&](int a, int b) { return words_[size_t(a)].size() > words_[size_t(b)].size(); });
  }
}

Anchors::Hit Anchors::find(std::string_view text, size_t from) const {
  const char* data = text.data();
  size_t end = from + window_;  // one behind the window
  while (end <= text.size()) {
    const size_t b = block(data + end - 2);
    const uint8_t skip = shift_[b];
    if (skip != 0) {
      end += skip;
      continue;
    }
    const size_t start = end - window_;
    for (const int w : ends_[b]) {
      const std::string_view word = words_[size_t(w)];
      if (text.size() - start >= word.size() && text.compare(start, word.size(), word) == 0) {
        return {start, w};
      }
    }
    ++end;
  }
  return {};
}

}  // namespace vramwise::verify
