#include "report/lever_lines.h"

#include <algorithm>

#include "report/cards_text.h"
#include "report/fields.h"
#include "report/outcome.h"

namespace vramwise::report {
namespace {

using json::Value;

// 0: reaches what was asked; 1: fits, with less; 2: helps, not enough alone.
int part_of(const Value& lever) {
  if (member(lever, "reaches").as_boolean()) return 0;
  return text(lever, "outcome") == "fits" ? 1 : 2;
}

void add_lever(std::string& out, const Value& lever, const Style& style) {
  const std::string outcome = text(lever, "outcome");
  const int64_t freed = integer(lever, "freed_bytes");
  std::string line = text(lever, "change");
  if (freed != 0) {
    line += (freed > 0 ? ": frees " : ": takes ") + size_text(style, freed > 0 ? freed : -freed);
  }
  line += ", then " + outcome_words(outcome);
  const int64_t users = integer(lever, "users");
  if (lever.find("users") != nullptr && outcome != "refuses_to_start" &&
      (users > 0 || outcome == "fits")) {
    line += " with " + format_grouped(users) + (users == 1 ? " user" : " users");
  }
  const auto add = [&](const std::string& words) {
    out += "    " + paint(style, Ink::dim, wrap(words, style.width, 6, 4)) + "\n";
  };
  out += "  " + mark(style, outcome) + wrap(line, style.width, 4, 4) + "\n";
  if (lever.find("option") != nullptr) add(text(lever, "option"));
  if (lever.find("cost") != nullptr) add("costs: " + text(lever, "cost"));
  if (part_of(lever) < 2 && lever.find("check") != nullptr) {
    add("check: " + text(member(lever, "check"), "text"));
  }
}

// Where nothing on these cards is enough: which cards are.
void add_smallest(std::string& out, const Value& answer, const Style& style) {
  const json::Array& levers = member(answer, "levers").as_array();
  if (text(answer, "outcome") == "fits") return;
  const bool here = std::any_of(levers.begin(), levers.end(), [](const Value& lever) {
    return part_of(lever) == 0 && member(lever, "set").find("hardware") == nullptr;
  });
  if (here) return;
  const Value& cards = member(answer, "smallest");
  std::string line = "No change on these cards reaches it";
  if (cards.is_null()) {
    line += ", nor does any usual card, up to 8 of a kind.";
  } else {
    line += "; the smallest cards that hold it as asked: " + cards_words(cards) + " (" +
            cards_flags(cards) + ").";
  }
  out += "\n" + wrap(line, style.width, 2) + "\n";
}

}  // namespace

bool reaches(const Value& lever) { return part_of(lever) == 0; }

std::string lever_lines(const Value& answer, const Style& style) {
  std::string out;
  const json::Array& levers = member(answer, "levers").as_array();
  const bool fits = text(answer, "outcome") == "fits";
  static constexpr std::string_view kParts[] = {"To reach it", "With less than asked",
                                                "Helps, not enough alone"};
  const size_t shown = style.verbosity > 0 ? levers.size() : std::min<size_t>(levers.size(), 6);
  int part = -1;
  for (size_t i = 0; i < shown; ++i) {
    const int now = fits ? 0 : part_of(levers[i]);
    if (now != part) {
      part = now;
      const std::string_view title = fits ? "For more users" : kParts[size_t(part)];
      out += "\n" + paint(style, Ink::bold, std::string(title)) + ", cheapest first\n";
    }
    add_lever(out, levers[i], style);
  }
  if (shown < levers.size()) {
    out += paint(style, Ink::dim,
                 "  " + format_integer(int64_t(levers.size() - shown)) + " more with -v") +
           "\n";
  }
  add_smallest(out, answer, style);
  return out;
}

}  // namespace vramwise::report
