#include <algorithm>
#include <string_view>

#include "base/units.h"
#include "report/fields.h"
#include "report/table.h"
#include "report/text.h"

namespace vramwise::report {
namespace {

using json::Value;

// The ids of a kind of entry and, where the answer has it, what is known of each.
std::string listing(const json::Array& rows, const Style& style) {
  struct Shown {
    std::string_view key, title;
    Align align;
    int priority;
  };
  constexpr Shown kShown[] = {{"id", "id", Align::left, 0},
                              {"name", "name", Align::left, 1},
                              {"total_bytes", "GiB", Align::right, 0},
                              {"bandwidth_gbs", "GB/s", Align::right, 2},
                              {"oldest", "known from", Align::left, 0},
                              {"newest", "to", Align::left, 0},
                              {"gpu", "GPU", Align::left, 0},
                              {"gpu_count", "n", Align::right, 0},
                              {"usd_per_hour", "$/h", Align::right, 1},
                              {"date", "of", Align::left, 2}};
  std::vector<Shown> columns;
  std::vector<Column> titles;
  for (const Shown& shown : kShown) {
    const bool some = std::any_of(rows.begin(), rows.end(),
                                  [&](const Value& row) { return row.find(shown.key) != nullptr; });
    if (!some) continue;
    columns.push_back(shown);
    titles.push_back({std::string(shown.title), shown.align, shown.priority});
  }
  Table table(std::move(titles));
  for (const Value& row : rows) {
    std::vector<std::string> cells;
    for (const Shown& shown : columns) {
      const Value* value = row.find(shown.key);
      if (value == nullptr) {
        cells.emplace_back();
      } else if (shown.key == "total_bytes") {
        cells.push_back(format_fixed(double(value->as_integer()) / double(GiB(1).count()), 1));
      } else if (shown.key == "usd_per_hour") {
        cells.push_back(format_fixed(value->as_double(), 2));
      } else if (value->is_number()) {
        cells.push_back(format_grouped(int64_t(value->as_double())));
      } else {
        cells.push_back(safe(value->as_string()));
      }
    }
    table.add(std::move(cells));
  }
  return table.draw(style);
}

}  // namespace

std::string catalog_text(const Value& answer, const Style& style) {
  const Value& catalog = member(answer, "catalog");
  if (const Value* entry = catalog.find("entry")) return json::dump(*entry, 2) + "\n";
  // Where nothing but ids is known they stand alone, one a line.
  const json::Array& rows = member(catalog, "rows").as_array();
  if (!rows.empty() && rows.front().as_object().size() > 1) return listing(rows, style);
  std::string out;
  for (const json::Member& part : catalog.as_object()) {
    if (part.key == "rows") continue;
    if (part.value.is_array()) {
      for (const Value& item : part.value.as_array()) {
        if (item.is_object()) {
          out += pad_right(text(item, "id"), 16) + text(item, "description") + "\n";
        } else {
          out += safe(item.as_string()) + "\n";
        }
      }
    } else {
      out += pad_right(part.key, 12) + pad_left(format_grouped(part.value.as_integer()), 8) + "\n";
    }
  }
  return out;
}

}  // namespace vramwise::report
