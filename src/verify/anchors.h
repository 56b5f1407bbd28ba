// Finds any of a few hundred fixed words in text at more than a gigabyte a second, so that what a
// server prints while it runs costs nearly nothing.
//
// Wu and Manber's algorithm with blocks of two characters: it looks at the last block of a window
// as long as the shortest word and skips ahead by what that block allows; where it allows nothing,
// the first four characters of the window tell nearly always that no word begins there. Built once.
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
  // A word whose window ends with some block.
  struct Candidate {
    uint32_t head = 0;  // its first four characters, as they lie in memory
    int word = 0;
  };

  std::vector<std::string_view> words_;
  size_t window_ = kShortest;
  std::vector<uint8_t> shift_;         // by block
  std::vector<uint32_t> from_;         // by block: its candidates, up to those of the next block
  std::vector<Candidate> candidates_;  // of one block the longest word first
};

}  // namespace vramwise::verify
