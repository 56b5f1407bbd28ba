// Text whose long lines were broken at a fixed width, as mail clients, chats and narrow terminals
// copy them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramwise::verify {

enum class Fold {
  words,    // between words, as mail clients do
  columns,  // at the last column, as terminals do
};

struct Unfolded {
  std::string text;
  std::vector<int64_t> lines;  // of each line of `text`: the line it began on, from 1
};

// The lines put together again; nullopt where the text does not look folded. What is put together
// wrongly does little harm: values are found anywhere in a line.
std::optional<Unfolded> unfold(std::string_view text, Fold fold);

}  // namespace vramwise::verify
