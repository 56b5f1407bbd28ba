#include "base/text.h"
#include "report/fields.h"
#include "report/table.h"
#include "report/text.h"

namespace vramwise::report {

using json::Value;

namespace {

std::string signed_size(const Style& style, int64_t bytes) {
  return (bytes > 0 ? "+" : "") + size_text(style, bytes);
}

// "vllm 0.21.0": what tells the two sides apart at a glance.
std::string side_name(const Value& side) {
  const Value& engine = member(side, "engine");
  std::string name = text(engine, "name");
  if (engine.find("version") != nullptr) name += " " + text(engine, "version");
  return name;
}

std::string cards_name(const Value& side) {
  const json::Array& devices = member(side, "devices").as_array();
  if (devices.empty()) return "CPU";
  return (devices.size() > 1 ? format_integer(int64_t(devices.size())) + " x " : "") +
         text(devices[0], "gpu");
}

// What tells the sides apart: of model, format, cards and engine those that differ, two at most.
struct Names {
  std::string a = "first", b = "second";
};
Names names_of(const Value& a, const Value& b) {
  const auto model = [](const Value& side) {
    const std::string id = text(member(side, "model"), "id");
    return id.substr(id.rfind('/') + 1);
  };
  const auto weights = [](const Value& side) { return text(member(side, "model"), "weights"); };
  Names names;
  int parts = 0;
  const auto add = [&](const std::string& x, const std::string& y) {
    if (x == y || x.empty() || y.empty() || parts == 2) return;
    names.a = (parts > 0 ? names.a + ", " : "") + x;
    names.b = (parts > 0 ? names.b + ", " : "") + y;
    ++parts;
  };
  add(model(a), model(b));
  add(weights(a), weights(b));
  add(cards_name(a), cards_name(b));
  add(side_name(a), side_name(b));
  return names;
}

std::string shown(const Value& item, std::string_view key) {
  const Value* value = item.find(key);
  if (value == nullptr) return "-";
  return safe(value->is_string() ? value->as_string() : json::dump(*value));
}

void add_rows(std::string& out, const Value& block, const Style& style) {
  const json::Array& rows = member(block, "rows").as_array();
  if (rows.empty()) return;
  out += "\n" + paint(style, Ink::bold, "What moves, on the fullest card") + "\n";
  const size_t most = style.verbosity > 0 ? rows.size() : 12;
  for (size_t i = 0; i < rows.size() && i < most; ++i) {
    const Value& row = rows[i];
    out += "  " + pad_left(signed_size(style, integer(row, "difference_bytes")), 12) + "  " +
           text(row, "component") + ": " + text(row, "item") + "\n";
    const std::string before = text(row, "a_formula"), after = text(row, "b_formula");
    if (style.verbosity > 0 && !before.empty() && before != after) {
      out += "      was  " + wrap(before, style.width, 11, 11) + "\n";
    }
    if (style.verbosity > 0 && !after.empty()) {
      out += "      is   " + wrap(after, style.width, 11, 11) + "\n";
    }
    if (style.verbosity > 0 && row.find("source") != nullptr) {
      out += "      from " + wrap(text(row, "source"), style.width, 11, 11) + "\n";
    }
  }
  if (rows.size() > most) {
    out += paint(style, Ink::dim,
                 "  " + format_integer(int64_t(rows.size() - most)) + " more, and why, with -v") +
           "\n";
  } else if (style.verbosity == 0) {
    out += paint(style, Ink::dim, "  the formulas behind each with -v") + "\n";
  }
}

}  // namespace

std::string compare_text(const Value& answer, const Style& style) {
  const Value& block = member(answer, "compare");
  std::string out = paint(style, Ink::bold, wrap(text(block, "answer"), style.width, 2)) + "\n";
  const Value& a = member(block, "a");
  const Value& b = member(block, "b");
  const Names names = names_of(a, b);
  Table table({{"", Align::left, 0},
               {names.a, Align::right, 0},
               {names.b, Align::right, 0},
               {"difference", Align::right, 0}});
  const auto row = [&](std::string_view label, std::string_view key) {
    const int64_t x = integer(member(a, "totals"), key);
    const int64_t y = integer(member(b, "totals"), key);
    table.add(
        {std::string(label), size_text(style, x), size_text(style, y), signed_size(style, y - x)});
  };
  row("weights", "weights_bytes");
  row("KV cache", "kv_cache_bytes");
  row("activations", "activations_bytes");
  row("runtime", "runtime_bytes");
  row("total", "total_bytes");
  const auto count_row = [&](std::string_view label, int64_t x, int64_t y) {
    table.add({std::string(label), format_grouped(x), format_grouped(y),
               (y > x ? "+" : "") + format_grouped(y - x)});
  };
  count_row("tokens held", integer(member(a, "kv"), "pool_tokens"),
            integer(member(b, "kv"), "pool_tokens"));
  count_row("users", integer(a, "users"), integer(b, "users"));
  out += "\n" + table.draw(style);
  add_rows(out, block, style);
  const json::Array& options = member(block, "options").as_array();
  if (!options.empty()) {
    out += "\n" + paint(style, Ink::bold, "The engine runs with") + "\n";
    for (const Value& item : options) {
      out +=
          "  " + text(item, "option") + ": " + shown(item, "a") + " -> " + shown(item, "b") + "\n";
    }
  }
  const auto sentences = [&](std::string_view key, std::string_view title) {
    const json::Array& list = member(block, key).as_array();
    if (list.empty()) return;
    out += "\n" + paint(style, Ink::bold, title) + "\n";
    for (const Value& sentence : list) {
      out += "  - " + wrap(safe(sentence.as_string()), style.width, 4, 4) + "\n";
    }
  };
  sentences("only_a", "Assumed for the first only");
  sentences("only_b", "Assumed for the second only");
  out += "\n" + wrap(names.a + ": " + text(a, "answer"), style.width, 2) + "\n";
  out += wrap(names.b + ": " + text(b, "answer"), style.width, 2) + "\n";
  return out;
}

}  // namespace vramwise::report
