// What stands before and around a record in a log: container noise, colours, process tags. The text
// is cleaned; the rank is kept.
#pragma once

#include <string>
#include <string_view>

namespace vramwise::verify {

// Colours (with or without their ESC), `{"log":"…"}` wrappings and stray control characters
// removed; blanks as they were.
std::string clean_line(std::string_view raw);

// "TP0", "DP1 PP0 TP3", "pid 4711" from the tags before column `anchor`; empty when nothing tells.
std::string rank_of(std::string_view clean, size_t anchor);

// A continuation line without the record header that some loggers repeat on it.
std::string_view without_header(std::string_view clean);

}  // namespace vramwise::verify
