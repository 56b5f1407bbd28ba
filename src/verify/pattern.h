// A log line's fixed words with its numbers between them: "Model loading took {weights:size}".
//
//   {name:kind}  a value; without a name it is read over
//     kind  n     whole number, thousands separators allowed, sign allowed
//           x     decimal number ("-0.0", "1e-3"), a decimal comma between digits too
//           size  number and unit, with or without a blank between: 5.30GiB, 1,024 MiB, 12 bytes
//           gib, mib  a number that stands for GiB or MiB
//           w     a word without blanks, commas, quotes and closing brackets
//           t     text up to the next fixed word (300 characters)      r  the rest of the line
//           b     the word before the pattern (only at its start): buffer and device names
//   [a|b]        one of these
//   (a)?         perhaps
//   a blank      one or more blanks or line breaks; "~" none or more; "\" takes the next as it is
//
// A pattern starts with fixed words (behind {…:b}): they are its anchor, by which lines are found.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramwise::verify {

enum class Unit { none, bytes };

struct Capture {
  std::string_view name;
  std::string_view text;  // as it stands in the line
  double value = 0;       // bytes where `unit` says so
  double rounding = 0;    // half a unit of the last digit printed
  Unit unit = Unit::none;
  bool number = false;
};

// The fixed words a pattern starts with.
std::string_view anchor_of(std::string_view pattern);

// Matches a pattern whose anchor stands at `at`. Captures hold views into `line` and `pattern`.
// Bounded in time: lines are cut at a few hundred kilobytes, alternatives are tried once each.
bool match(std::string_view pattern, std::string_view line, size_t at, std::vector<Capture>& out);

// No match, but only because the line ended too early: the rest may stand on the next one. Never of
// patterns with free text in them, which would reach over records.
bool breaks_off(std::string_view pattern, std::string_view line, size_t at);

// A number with its unit at the start of the text; false when there is none. `used`: characters.
bool read_size(std::string_view text, Capture& out, size_t& used);

}  // namespace vramwise::verify
