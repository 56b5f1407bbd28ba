#include "verify/anchors.h"

#include <algorithm>
#include <cstring>

#include "base/sort.h"

namespace vramwise::verify {
namespace {

constexpr size_t kBlocks = 65536;

size_t block(const char* at) { return size_t(uint8_t(at[0])) << 8 | uint8_t(at[1]); }

uint32_t head_of(const char* at) {
  uint32_t head = 0;
  std::memcpy(&head, at, sizeof head);
  return head;
}

}  // namespace

Anchors::Anchors(std::vector<std::string_view> words)
    : words_(std::move(words)), shift_(kBlocks), from_(kBlocks + 1) {
  window_ = SIZE_MAX;
  for (const std::string_view word : words_) {
    if (word.size() >= kShortest) window_ = std::min(window_, word.size());
  }
  if (window_ == SIZE_MAX) window_ = kShortest;
  window_ = std::min<size_t>(window_, 200);
  std::fill(shift_.begin(), shift_.end(), uint8_t(window_ - 1));
  std::vector<std::vector<int>> ends(kBlocks);
  for (size_t w = 0; w < words_.size(); ++w) {
    if (words_[w].size() < kShortest) continue;
    for (size_t i = 0; i + 2 <= window_; ++i) {
      uint8_t& s = shift_[block(words_[w].data() + i)];
      s = std::min(s, uint8_t(window_ - 2 - i));
    }
    ends[block(words_[w].data() + window_ - 2)].push_back(int(w));
  }
  for (size_t b = 0; b < kBlocks; ++b) {
    sort_stable(ends[b],
                [&](int a, int b) { return words_[size_t(a)].size() > words_[size_t(b)].size(); });
    for (const int w : ends[b]) candidates_.push_back({head_of(words_[size_t(w)].data()), w});
    from_[b + 1] = uint32_t(candidates_.size());
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
    const uint32_t head = head_of(data + start);
    for (uint32_t c = from_[b]; c < from_[b + 1]; ++c) {
      if (candidates_[c].head != head) continue;
      const std::string_view word = words_[size_t(candidates_[c].word)];
      if (text.size() - start >= word.size() && text.compare(start, word.size(), word) == 0) {
        return {start, candidates_[c].word};
      }
    }
    ++end;
  }
  return {};
}

}  // namespace vramwise::verify
