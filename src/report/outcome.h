// A verdict as a mark, a colour and words; colour never says it alone.
#pragma once

#include <algorithm>
#include <string>

#include "report/style.h"

namespace vramwise::report {

inline std::string mark(const Style& style, const std::string& outcome) {
  if (outcome == "fits") return paint(style, Ink::green, style.unicode ? "✓ " : "+ ");
  if (outcome == "tight") return paint(style, Ink::yellow, "! ");
  return paint(style, Ink::red, style.unicode ? "✗ " : "x ");
}

inline Ink outcome_ink(const std::string& outcome) {
  return outcome == "fits" ? Ink::green : outcome == "tight" ? Ink::yellow : Ink::red;
}

inline std::string outcome_words(std::string outcome) {
  std::replace(outcome.begin(), outcome.end(), '_', ' ');
  return outcome;
}

}  // namespace vramwise::report
