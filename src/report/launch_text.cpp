#include <algorithm>

#include "base/text.h"
#include "report/fields.h"
#include "report/table.h"
#include "report/text.h"

namespace vramwise::report {

using json::Value;

namespace {

std::string shown(const Value& value) {
  return safe(value.is_string() ? value.as_string() : json::dump(value));
}

void add_findings(std::string& out, const Value& launch, std::string_view key,
                  std::string_view label, Ink ink, const Style& style) {
  for (const Value& item : member(launch, key).as_array()) {
    out += paint(style, ink, label) + " " + shown(item) + "\n";
  }
}

// What the program would refuse, and what is worth knowing, in sentences.
void add_remarks(std::string& out, const Value& launch, const Style& style) {
  const json::Array& errors = member(launch, "errors").as_array();
  for (const Value& remark : member(launch, "remarks").as_array()) {
    const std::string code = text(remark, "code");
    const bool refused = std::any_of(errors.begin(), errors.end(),
                                     [&](const Value& e) { return e.as_string() == code; });
    out += paint(style, refused ? Ink::red : Ink::yellow, refused ? "refused:" : "warning:") + " " +
           wrap(text(remark, "text"), style.width, 2, 9) + "\n";
  }
}

void add_options(Table& table, const Value& object, const std::string& prefix) {
  for (const json::Member& member : object.as_object()) {
    const std::string name = prefix.empty() ? member.key : prefix + "." + member.key;
    if (member.value.is_object() && !member.value.as_object().empty()) {
      add_options(table, member.value, name);
    } else {
      table.add({safe(name), shown(member.value)});
    }
  }
}

}  // namespace

std::string launch_text(const Value& answer, const Style& style) {
  const Value& launch = member(answer, "launch");
  const std::string engine = text(launch, "engine");
  if (engine.empty()) return "No serving engine was found in the line.\n";
  std::string out = paint(style, Ink::bold, engine) + " (" + text(launch, "entry") + ")";
  if (launch.find("model") != nullptr) out += " serves " + text(launch, "model");
  out += "\n\n";
  Table table({{"option", Align::left, 0}, {"value", Align::left, 0}});
  add_options(table, member(launch, "options"), "");
  if (!member(launch, "options").as_object().empty()) out += table.draw(style);
  for (const json::Member& variable : member(launch, "env").as_object()) {
    out += safe(variable.key) + "=" + shown(variable.value) + "\n";
  }
  if (const Value* gpus = launch.find("gpus")) out += "visible GPUs: " + shown(*gpus) + "\n";
  add_remarks(out, launch, style);
  for (const Value& item : member(launch, "unknown").as_array()) {
    out += paint(style, Ink::yellow, "unknown:") + " " + text(item, "token");
    if (!text(item, "nearest").empty())
      out += ", a similar option exists: " + text(item, "nearest");
    out += "\n";
  }
  add_findings(out, launch, "removed", "removed:", Ink::yellow, style);
  std::vector<std::string> ignored;
  for (const Value& item : member(launch, "ignored").as_array()) ignored.push_back(shown(item));
  if (!ignored.empty()) {
    out += paint(style, Ink::dim,
                 wrap("without effect on memory: " + join(ignored, ", "), style.width, 2)) +
           "\n";
  }
  return out;
}

}  // namespace vramwise::report
