#include "report/style.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace vramwise::report {
namespace {

struct Decoded {
  uint32_t code;
  size_t length;
};

Decoded decode(std::string_view text, size_t i) {
  const auto at = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char c = at(i);
  if (c < 0x80) return {c, 1};
  const size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
  if (length == 1 || i + length > text.size()) return {0xfffd, 1};
  uint32_t code = c & (0xffu >> (length + 1));
  for (size_t k = 1; k < length; ++k) {
    if ((at(i + k) & 0xc0u) != 0x80) return {0xfffd, 1};
    code = (code << 6) | (at(i + k) & 0x3fu);
  }
  return {code, length};
}

// Marks that turn the direction of the text behind them, so that a line reads as another one.
bool turns_text(uint32_t code) {
  return code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

int columns_of(uint32_t code) {
  struct Range {
    uint32_t first, last;
  };
  constexpr std::array kCombining = {Range{0x300, 0x36f}, Range{0x200b, 0x200f},
                                     Range{0xfe00, 0xfe0f}, Range{0x20d0, 0x20ff}};
  constexpr std::array kWide = {Range{0x1100, 0x115f},   Range{0x2e80, 0xa4cf},
                                Range{0xac00, 0xd7a3},   Range{0xf900, 0xfaff},
                                Range{0xfe30, 0xfe6f},   Range{0xff00, 0xff60},
                                Range{0x1f300, 0x1faff}, Range{0x20000, 0x3fffd}};
  for (const Range& r : kCombining) {
    if (code >= r.first && code <= r.last) return 0;
  }
  for (const Range& r : kWide) {
    if (code >= r.first && code <= r.last) return 2;
  }
  return 1;
}

}  // namespace

std::string paint(const Style& style, Ink ink, std::string_view text) {
  if (!style.color || ink == Ink::plain) return std::string(text);
  std::string_view code = "0";
  switch (ink) {
    case Ink::plain: break;
    case Ink::bold: code = "1"; break;
    case Ink::dim: code = "2"; break;
    case Ink::green: code = "32"; break;
    case Ink::yellow: code = "33"; break;
    case Ink::red: code = "31"; break;
    case Ink::blue: code = "34"; break;
    case Ink::magenta: code = "35"; break;
    case Ink::cyan: code = "36"; break;
  }
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

int display_width(std::string_view utf8) {
  int width = 0;
  for (size_t i = 0; i < utf8.size();) {
    const Decoded d = decode(utf8, i);
    width += columns_of(d.code);
    i += d.length;
  }
  return width;
}

std::string pad_right(std::string_view text, int columns) {
  std::string padded(text);
  padded.append(size_t(std::max(0, columns - display_width(text))), ' ');
  return padded;
}

std::string pad_left(std::string_view text, int columns) {
  return std::string(size_t(std::max(0, columns - display_width(text))), ' ') + std::string(text);
}

std::string elide_middle(std::string_view text, int columns, const Style& style) {
  if (columns <= 0 || display_width(text) <= columns) return std::string(text);
  const std::string_view dots = style.unicode ? "…" : "...";
  const int room = columns - display_width(dots);
  if (room < 2) return std::string(text.substr(0, size_t(std::max(0, columns))));
  // Byte-wise on purpose: only names that are ASCII get here in practice; never split a sequence.
  size_t head = size_t(room) / 2;
  size_t tail = text.size() - (size_t(room) - head);
  while (head > 0 && (static_cast<unsigned char>(text[head]) & 0xc0) == 0x80) --head;
  while (tail < text.size() && (static_cast<unsigned char>(text[tail]) & 0xc0) == 0x80) ++tail;
  return std::string(text.substr(0, head)) + std::string(dots) + std::string(text.substr(tail));
}

std::string wrap(std::string_view text, int width, int indent, int first) {
  if (width <= 0) return std::string(text);
  std::string out;
  int column = first;
  bool line_empty = true;  // a word that is wider than the line still goes somewhere
  size_t i = 0;
  while (i < text.size()) {
    size_t end = text.find(' ', i);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view word = text.substr(i, end - i);
    const int columns = display_width(word);
    if (!line_empty && column + 1 + columns > width) {
      out += "\n" + std::string(size_t(indent), ' ');
      column = indent;
    } else if (i > 0) {
      out += ' ';
      ++column;
    }
    line_empty = false;
    out += word;
    column += columns;
    i = end + 1;
  }
  return out;
}

std::string bar(double share, int columns, const Style& style) {
  if (!(share > 0) || columns <= 0) return {};
  share = std::min(share, 1.0);
  if (!style.unicode) {
    const int whole = std::max(1, int(share * columns + 0.5));
    return std::string(size_t(whole), '#');
  }
  constexpr std::array<std::string_view, 8> kPart = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = std::max(1, int(share * columns * 8 + 0.5));
  std::string out;
  for (int i = 0; i < eighths / 8; ++i) out += "█";
  out += kPart[size_t(eighths % 8)];
  return out;
}

std::string safe(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const Decoded d = decode(text, i);
    // C0, DEL and C1 could move the cursor or recolour the terminal; bytes that are no UTF-8 may be
    // C1 to it.
    const bool stray = d.length == 1 && d.code == 0xfffd;
    if (d.code < 0x20 || (d.code >= 0x7f && d.code < 0xa0) || turns_text(d.code) || stray) {
      out += '?';
    } else {
      out += text.substr(i, d.length);
    }
    i += d.length;
  }
  return out;
}

}  // namespace vramwise::report
