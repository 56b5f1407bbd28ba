// A number of cards in a layout, as people say it and as `plan` takes it.
#pragma once

#include <string>

#include "report/fields.h"

namespace vramwise::report {

// "4 x l40s as TP4"
inline std::string cards_words(const json::Value& cards) {
  const int64_t count = integer(cards, "count");
  std::string words = (count > 1 ? format_integer(count) + " x " : "") + text(cards, "gpu");
  if (cards.find("layout") != nullptr) words += " as " + text(cards, "layout");
  return words;
}

// "--gpu l40s --count 4 --option tensor_parallel_size=4"
inline std::string cards_flags(const json::Value& cards) {
  std::string flags = "--gpu " + text(cards, "gpu");
  const int64_t count = integer(cards, "count");
  if (count > 1) flags += " --count " + format_integer(count);
  for (const json::Member& option : member(cards, "options").as_object()) {
    flags += " --option " + option.key + "=" + json::dump(option.value);
  }
  return flags;
}

}  // namespace vramwise::report
