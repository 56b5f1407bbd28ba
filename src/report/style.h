// How text is drawn: decided once at the door, handed down as a value.
#pragma once

#include <string>
#include <string_view>

namespace vramwise::report {

struct Style {
  int width = 80;  // columns; 0 = unlimited (a pipe)
  bool color = false;
  bool unicode = true;  // bars and marks beyond ASCII
  bool exact = false;   // whole bytes instead of GiB
  int verbosity = 0;    // 1: all assumptions; 2: formulas and sources
};

enum class Ink { plain, bold, dim, green, yellow, red, blue, magenta, cyan };
std::string paint(const Style& style, Ink ink, std::string_view text);

// Columns that a UTF-8 text takes on a terminal (wide CJK counts two, combining marks none).
int display_width(std::string_view utf8);
std::string pad_right(std::string_view text, int columns);
std::string pad_left(std::string_view text, int columns);
// Cuts in the middle, keeping the tail, which differs between names: "meta-lla…-Instruct".
std::string elide_middle(std::string_view text, int columns, const Style& style);
// Wraps at blanks; every line after the first begins with `indent` blanks, and the first one stands
// in column `first` (what was drawn before it on its line). width 0: one line.
std::string wrap(std::string_view text, int width, int indent, int first = 0);

// A horizontal bar of `columns` columns filled to `share` (0..1), eighths of a column in Unicode.
std::string bar(double share, int columns, const Style& style);

// Text from a file or a catalog, with control characters made harmless for a terminal.
std::string safe(std::string_view text);

}  // namespace vramwise::report
