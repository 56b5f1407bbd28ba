// What stands before and around a record in a log: container noise, colours, process tags. The text
// is cleaned; the rank is kept.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace vramwise::verify {

// Colours (with or without their ESC), `{"log":"…"}` wrappings and stray control characters
// removed; blanks as they were.
std::string clean_line(std::string_view raw);

// Whose line it is: "TP0", "DP1 PP0 TP3", "pid 4711" from the tags before a column; empty when
// nothing tells. Asked for one column after the other, it reads the line once.
class RankTags {
 public:
  // The view must outlive this.
  explicit RankTags(std::string_view clean) : clean_(clean) {}
  // Columns must not go back.
  std::string before(size_t column);

 private:
  void tag(size_t name, size_t digits, size_t end);

  std::string_view clean_;
  size_t read_ = 0;
  std::array<std::string_view, 5> numbers_;  // of DP, PP, TP, EP, rank; the last one counts
  bool of_launcher_ = false;                 // "[RANK 3" outdoes "rank=3"
  bool has_pid_ = false;
};

// A continuation line without the record header that some loggers repeat on it.
std::string_view without_header(std::string_view clean);

}  // namespace vramwise::verify
