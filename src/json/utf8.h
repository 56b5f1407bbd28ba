// UTF-8, one character at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vramwise::json {

// Bytes of the character at `at` (< text.size()); 0 where none is well formed: no overlong forms,
// no surrogates, nothing beyond U+10FFFF.
size_t utf8_length(std::string_view text, size_t at);

// `code` is at most U+10FFFF.
void append_utf8(std::string& out, uint32_t code);

}  // namespace vramwise::json
