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

// "--gpu l40s --count 4", "--gpu l40s --count 4 --option tensor_parallel_size=2 --option …". One
// tensor-parallel group of all cards is what a count means anyway.
inline std::string cards_flags(const json::Value& cards) {
  std::string flags = "--gpu " + text(cards, "gpu");
  const int64_t count = integer(cards, "count");
  if (count > 1) flags += " --count " + format_integer(count);
  const json::Object& options = member(cards, "options").as_object();
  const bool usual =
      options.size() == 1 && options.front().value.is_number() &&
      options.front().value.as_double() == double(count) &&
      (options.front().key == "tensor_parallel_size" || options.front().key == "tp_size");
  if (usual) return flags;
  for (const json::Member& option : options) {
    flags += " --option " + option.key + "=" + json::dump(option.value);
  }
  return flags;
}

}  // namespace vramwise::report
