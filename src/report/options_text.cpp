#include <algorithm>

#include "base/text.h"
#include "report/fields.h"
#include "report/table.h"
#include "report/text.h"

namespace vramwise::report {
namespace {

using json::Value;

std::string shown(const Value& value, const Style& style) {
  if (value.is_null()) return "";
  if (value.is_number() && value.is_integer()) return format_grouped(value.as_integer());
  const std::string text = safe(value.is_string() ? value.as_string() : json::dump(value));
  // Objects and paths can be as long as they like.
  return style.width > 0 && style.verbosity == 0 ? elide_middle(text, 24, style) : text;
}

std::string_view decider_words(std::string_view from) {
  if (from == "workload") return "the question";
  if (from == "request") return "given";
  if (from == "line") return "the line";
  if (from == "model") return "the model";
  if (from == "weights") return "the checkpoint";
  if (from == "cards") return "the cards";
  return from;  // "environment", "default"
}

std::string moved(const Value& row) {
  if (row.find("unknown") != nullptr) return "unknown option";
  if (row.find("moves") == nullptr) return "no memory";
  std::string what = text(row, "moves");
  if (what == "kv") what = "KV cache";
  return what + (row.find("counted") != nullptr ? " *" : "");
}

}  // namespace

std::string options_text(const Value& answer, const Style& style) {
  const json::Array& rows = member(answer, "options").as_array();
  if (rows.empty()) return {};
  Table table({{"option", Align::left, 0},
               {"value", Align::left, 0},
               {"decided by", Align::left, 0},
               {"moves", Align::left, 0}});
  for (const Value& row : rows) {
    std::string value = shown(member(row, "value"), style);
    if (row.find("asked") != nullptr) {
      value += " (asked " + shown(member(row, "asked"), style) + ")";
    }
    table.add({row.find("flag") != nullptr ? text(row, "flag") : text(row, "name"),
               std::move(value), std::string(decider_words(text(row, "from"))), moved(row)});
  }
  std::string out = "\n" + paint(style, Ink::bold, "Options") + "\n" + table.draw(style);
  const bool uncounted = std::any_of(
      rows.begin(), rows.end(), [](const Value& row) { return row.find("counted") != nullptr; });
  if (uncounted) out += paint(style, Ink::dim, "* no number here follows it yet") + "\n";
  return out;
}

}  // namespace vramwise::report
