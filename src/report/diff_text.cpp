#include "base/text.h"
#include "report/fields.h"
#include "report/tensor_lines.h"
#include "report/text.h"

namespace vramwise::report {

using json::Value;

std::string diff_text(const Value& answer, const Style& style) {
  const Value& diff = member(answer, "diff");
  std::string out = paint(style, Ink::bold, wrap(text(diff, "answer"), style.width, 2)) + "\n\n";
  const auto pair = [&](std::string_view label, std::string_view key, bool is_size) {
    const auto show = [&](const Value& side) {
      const Value& value = member(side, key);
      if (value.is_string()) return safe(value.as_string());
      return is_size ? size_text(style, integer(side, key)) : format_grouped(integer(side, key));
    };
    const std::string a = show(member(diff, "a"));
    const std::string b = show(member(diff, "b"));
    out += "  " + pad_right(label, 20) + pad_right(a, 32) + " " +
           (a == b ? std::string("same") : b) + "\n";
  };
  pair("model", "id", false);
  pair("architecture", "architecture", false);
  pair("weights", "weights", false);
  pair("parameters", "parameters", false);
  pair("tensor bytes", "tensor_bytes", true);
  pair("cache per token", "kv_bytes_per_token", true);
  const size_t most = style.verbosity > 0 ? size_t{2000} : size_t{20};
  const auto list = [&](std::string_view title, std::string_view key, auto line) {
    const json::Array& items = member(diff, key).as_array();
    if (items.empty()) return;
    out += "\n" + paint(style, Ink::bold, title) + "\n";
    for (size_t i = 0; i < items.size() && i < most; ++i) out += line(items[i]);
    if (items.size() > most) {
      out += paint(style, Ink::dim,
                   "  " + format_integer(int64_t(items.size() - most)) + " more with -v") +
             "\n";
    }
  };
  list("Differ", "changed", [&](const Value& item) {
    const Value& a = member(item, "a");
    const Value& b = member(item, "b");
    return "  " + text(item, "name") + "  " + text(a, "type") + " " +
           shape_text(member(a, "shape")) + " -> " + text(b, "type") + " " +
           shape_text(member(b, "shape")) + "\n";
  });
  const auto line = [&](const Value& item) { return tensor_line(item, style); };
  list("Only in the first", "only_in_a", line);
  list("Only in the second", "only_in_b", line);
  return out;
}

}  // namespace vramwise::report
