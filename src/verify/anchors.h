// Finds any of a few hundred fixed words in text at more than a gigabyte a second, so that what a
// server prints while it runs costs nearly nothing.
//
// Wu and Manber's algorithm with blocks of two characters: it looks at the last block of a window
// as long as the shortest word and skips ahead by what that block allows. Built once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace vramwise::verify {

class Anchors {
 public:
  static constexpr size_t kShortest = 5;
  struct Hit {
    size_t at = std::string_view::npos;
    int word = -1;
  };

  // Words shorter than kShortest are never found. The views must outlive this.
  explicit Anchors(std::vector<std::string_view> words);

  // The first hit that starts at or behind `from`; of several at one place, the longest word.
  Hit find(std::string_view text, size_t from) const;

 private:
  std::vector<std::string_view> words_;
  size_t window_ = kShortest;
  std::vector<uint8_t> shift_;          // by block
  std::vector<std::vector<int>> ends_;  // by block: words whose window ends with it, longest first
};

}  // namespace vramwise::verify
