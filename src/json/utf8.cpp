#include "json/utf8.h"

namespace vramwise::json {

size_t utf8_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char c = byte(0);
  if (c < 0x80) return 1;
  const size_t length = c > 0xf4 ? 0 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (size_t k = 1; k < length; ++k) {
    if ((byte(k) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool outside = (c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) ||
                       (c == 0xf0 && second < 0x90) || (c == 0xf4 && second > 0x8f);
  return outside ? 0 : length;
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += char(code);
    return;
  }
  const int tails = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr uint32_t kFirst[] = {0, 0xC0, 0xE0, 0xF0};
  out += char(kFirst[tails] | (code >> uint32_t(6 * tails)));
  for (int i = tails - 1; i >= 0; --i) out += char(0x80U | ((code >> uint32_t(6 * i)) & 0x3FU));
}

}  // namespace vramwise::json
