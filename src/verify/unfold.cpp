#include "verify/unfold.h"

#include <algorithm>

#include "base/text.h"

namespace vramwise::verify {
namespace {

// Widths that people's windows and mail clients have.
constexpr size_t kNarrowest = 60, kWidest = 240;
// A longer word than this was not what did not fit.
constexpr size_t kLongestWord = 60;

std::string_view unquoted(std::string_view line) {
  while (starts_with(line, ">")) {
    line.remove_prefix(1);
    if (starts_with(line, " ")) line.remove_prefix(1);
  }
  return line;
}

size_t first_word(std::string_view line) { return std::min(line.find(' '), line.size()); }

}  // namespace

std::optional<Unfolded> unfold(std::string_view text, Fold fold) {
  std::vector<std::string_view> lines = split(text, '\n');
  size_t width = 0;
  for (std::string_view& line : lines) {
    if (ends_with(line, "\r")) line.remove_suffix(1);
    line = unquoted(line);
    width = std::max(width, line.size());
  }
  if (width < kNarrowest || width > kWidest) return std::nullopt;
  const auto goes_on = [&](size_t i) {
    const size_t length = lines[i].size();
    if (i + 1 >= lines.size() || length == 0 || lines[i + 1].empty()) return false;
    if (fold == Fold::columns || length == width) return length == width;
    // The next line's first word would not have fitted.
    const size_t word = first_word(lines[i + 1]);
    return word <= kLongestWord && length + 1 + word > width;
  };
  Unfolded out;
  out.text.reserve(text.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i == 0 || !goes_on(i - 1)) {
      if (i > 0) out.text += '\n';
      out.lines.push_back(int64_t(i) + 1);
    } else if (fold == Fold::words) {
      out.text += ' ';
    }
    out.text += lines[i];
  }
  if (out.lines.size() == lines.size()) return std::nullopt;
  return out;
}

}  // namespace vramwise::verify
