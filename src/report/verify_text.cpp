#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/fields.h"
#include "report/table.h"
#include "report/text.h"

namespace vramwise::report {
namespace {

using json::Value;

std::string amount(const Style& style, const Value& row, std::string_view key, bool sign = false) {
  const Value& value = member(row, key);
  std::string text_of;
  if (text(row, "unit") == "bytes") {
    text_of = size_text(style, integer(row, key));
  } else if (value.is_integer()) {
    text_of = format_grouped(value.as_integer());
  } else {
    text_of = format_fixed(value.as_double(), 2);
  }
  return sign && value.as_double() > 0 ? "+" + text_of : text_of;
}

std::string mark_of(const Style& style, const Value& row) {
  if (member(row, "exact").as_boolean()) return paint(style, Ink::green, "=");
  if (member(row, "within_bar").as_boolean()) return paint(style, Ink::green, "~");
  return paint(style, Ink::red, style.unicode ? "≠" : "!");
}

void add_rows(std::string& out, const Value& verify, const Style& style) {
  const json::Array& rows = member(verify, "rows").as_array();
  if (rows.empty()) return;
  size_t names = 4;
  for (const Value& row : rows) names = std::max(names, text(row, "line").size());
  const int width = style.width > 0 ? style.width : 100;
  const int columns = std::clamp(int(names), 10, std::max(10, width - 54));
  out += "\n" + paint(style, Ink::bold, pad_right("  line", columns + 4)) +
         paint(style, Ink::bold, pad_left("predicted", 15)) +
         paint(style, Ink::bold, pad_left("logged", 15)) +
         paint(style, Ink::bold, pad_left("difference", 15)) + "\n";
  for (const Value& row : rows) {
    out +=
        mark_of(style, row) + " " +
        pad_right(elide_middle(text(row, "line"), columns + 1, style), columns + 2) +
        pad_left(amount(style, row, "predicted"), 15) + pad_left(amount(style, row, "logged"), 15) +
        (member(row, "exact").as_boolean() ? ""
                                           : pad_left(amount(style, row, "difference", true), 15)) +
        "\n";
    if (style.verbosity > 0) {
      for (const Value& rank : member(row, "ranks").as_array()) {
        Value shown = rank;
        shown.set("unit", text(row, "unit"));
        out += "    " + pad_right(text(rank, "rank"), columns + 15) +
               pad_left(amount(style, shown, "logged"), 15) + "\n";
      }
    }
  }
  out += paint(style, Ink::dim,
               "  = to the printed digit   ~ within the plan's bar   " +
                   std::string(style.unicode ? "≠" : "!") + " beyond it") +
         "\n";
}

void add_list(std::string& out, const Value& list, std::string_view title, const Style& style) {
  const json::Array& items = list.as_array();
  if (items.empty()) return;
  out += "\n" + paint(style, Ink::bold, title) + "\n";
  for (const Value& item : items) {
    out += "  - " + wrap(text(item, "text"), style.width, 4, 4) + "\n";
  }
}

void add_failure(std::string& out, const Value& verify, const Style& style) {
  if (verify.find("failure") == nullptr) return;
  const Value& failure = member(verify, "failure");
  out += "\n" + paint(style, Ink::bold, "It printed") + ", line " +
         format_grouped(integer(failure, "log_line")) + "\n";
  out += "  " + paint(style, Ink::dim, wrap(text(failure, "printed"), style.width, 2, 2)) + "\n";
  const json::Array& advice = member(failure, "advice").as_array();
  if (!advice.empty()) {
    out += "\n" + paint(style, Ink::bold, "What to turn") + "\n";
    for (const Value& a : advice) {
      out += "  - " +
             wrap(text(a, "direction") + " " + text(a, "knob") + ": " + text(a, "text"),
                  style.width, 4, 4) +
             "\n";
    }
  }
  if (failure.find("changes") == nullptr) return;
  const json::Array& changes = member(failure, "changes").as_array();
  if (changes.empty()) {
    const std::string why = text(failure, "no_changes_because");
    if (!why.empty()) {
      out += "\n" + paint(style, Ink::bold, "No change is proposed") + "\n  " +
             wrap(why, style.width, 2, 2) + "\n";
    }
    return;
  }
  out += "\n" + paint(style, Ink::bold, "Would have started") +
         ", planned again with this log's numbers\n";
  const size_t shown = style.verbosity > 0 ? changes.size() : std::min<size_t>(3, changes.size());
  for (size_t i = 0; i < shown; ++i) {
    std::string line = text(changes[i], "change");
    const std::string option = text(changes[i], "option");
    // Some options are words already: "(another GPU)".
    if (!option.empty()) line += option[0] == '(' ? " " + option : " (" + option + ")";
    out += "  - " + wrap(line, style.width, 4, 4) + "\n";
  }
}

void add_logged(std::string& out, const Value& verify, const Style& style) {
  const json::Array& logged = member(verify, "logged").as_array();
  const bool nothing_beside = member(verify, "rows").as_array().empty();
  if (logged.empty() || (!nothing_beside && style.verbosity == 0)) return;
  out += "\n" + paint(style, Ink::bold, "Read from the log") + "\n";
  for (const Value& r : logged) {
    std::string name = text(r, "field");
    std::replace(name.begin(), name.end(), '_', ' ');
    if (r.find("device") != nullptr) name = text(r, "device") + " " + name;
    if (r.find("rank") != nullptr) name += " (" + text(r, "rank") + ")";
    out += "  " + pad_right(name, 34) + " " + text(r, "printed") +
           paint(style, Ink::dim, "  line " + format_grouped(integer(r, "log_line"))) + "\n";
  }
}

// How to say what the log left open; a launch line names the model as well.
void add_lacking(std::string& out, const Value& verify, const Style& style) {
  const json::Array& parts = member(verify, "lacking").as_array();
  const auto lacks = [&](std::string_view name) {
    return std::find(parts.begin(), parts.end(), Value(name)) != parts.end();
  };
  const auto say = [&](const std::string& line) {
    out += "\n" + wrap(line, style.width, 2) + "\n";
  };
  const bool card = lacks("hardware");
  if (lacks("engine")) {
    say(std::string("Say what ran: vramwise verify LOG") + (card ? " --gpu ID" : "") +
        " -- vllm serve MODEL …");
    return;
  }
  if (lacks("model")) {
    say(member(verify, "model").is_string()
            ? "Name the model it is made of, or its config.json: vramwise verify LOG MODEL"
            : "Name the model: vramwise verify LOG MODEL");
  }
  if (card) say("Name the card: vramwise verify LOG --gpu ID");
}

}  // namespace

std::string verify_text(const Value& answer, const Style& style) {
  const Value& verify = member(answer, "verify");
  const std::string status = text(verify, "status");
  const bool failed = starts_with(status, "failed");
  const Value& agrees = member(verify, "agrees");
  const bool good = !failed && (!agrees.is_boolean() || agrees.as_boolean());
  std::string out = paint(style, good ? Ink::green : Ink::red,
                          good ? (style.unicode ? "✓ " : "+ ") : (style.unicode ? "✗ " : "x "));
  out +=
      paint(style, good ? Ink::green : Ink::red, wrap(text(verify, "answer"), style.width, 2, 2)) +
      "\n\n";
  std::string subject = text(verify, "engine");
  if (verify.find("version") != nullptr) subject += " " + text(verify, "version");
  if (verify.find("model") != nullptr) subject += ", " + text(verify, "model");
  const Value& read = member(verify, "read");
  const int64_t lines = integer(read, "lines");
  subject += (subject.empty() ? "" : ", ") + format_grouped(lines) +
             (lines == 1 ? " line" : " lines") + " read, " +
             format_grouped(integer(read, "matched")) + " of them about memory";
  out += wrap(subject, style.width, 2) + "\n";
  add_failure(out, verify, style);
  add_rows(out, verify, style);
  add_list(out, member(verify, "attribution"), "What is off", style);
  std::string checks;
  Value shown = Value::array();
  for (const Value& check : member(verify, "checks").as_array()) {
    if (!member(check, "holds").as_boolean() || style.verbosity > 0) shown.push(check);
  }
  add_list(out, shown, "The log's own arithmetic", style);
  add_logged(out, verify, style);
  add_lacking(out, verify, style);
  add_list(out, member(answer, "assumptions"), "Assumed", style);
  for (const Value& note : member(answer, "warnings").as_array()) {
    out += paint(style, Ink::yellow, "warning:") + " " +
           wrap(text(note, "text"), style.width, 2, 9) + "\n";
  }
  return out;
}

}  // namespace vramwise::report
