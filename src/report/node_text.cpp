// A node with its programs, as text.
#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "report/fields.h"
#include "report/outcome.h"
#include "report/text.h"

namespace vramwise::report {
namespace {

using json::Value;

constexpr std::array kInks = {Ink::blue, Ink::magenta, Ink::cyan, Ink::yellow, Ink::green};
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

Ink ink_of(size_t process) { return kInks[process % kInks.size()]; }
std::string letter_of(size_t process) {
  return std::string(1, process < kLetters.size() ? kLetters[process] : '+');
}

// What a process takes on a card; nullptr when it does not use it.
const Value* on_card(const Value& process, int64_t card) {
  for (const Value& device : member(process, "devices").as_array()) {
    if (integer(device, "device") == card) return &device;
  }
  return nullptr;
}

// The card as a row of letters, one a program; "#" is what was in use before, "." what is free.
// Whatever holds memory has at least one column.
std::string card_bar(const Value& device, const json::Array& processes, const Style& style) {
  const int columns = std::clamp((style.width > 0 ? style.width : 80) - 4, 20, 72);
  const double total = double(std::max<int64_t>(1, integer(device, "total_bytes")));
  std::string bar;
  int used = 0;
  const auto part = [&](int64_t bytes, const std::string& letter, Ink ink) {
    if (bytes <= 0) return;
    int wide = std::max(1, int(double(bytes) / total * columns + 0.5));
    wide = std::min(wide, columns - used);
    if (wide <= 0) return;
    std::string text;
    for (int i = 0; i < wide; ++i) text += letter;
    bar += paint(style, ink, text);
    used += wide;
  };
  part(integer(device, "used_bytes"), "#", Ink::dim);
  for (size_t i = 0; i < processes.size(); ++i) {
    const Value* here = on_card(processes[i], integer(device, "index"));
    if (here != nullptr) part(integer(*here, "takes_bytes"), letter_of(i), ink_of(i));
  }
  if (used < columns) {
    bar += paint(style, Ink::dim, std::string(size_t(columns - used), '.'));
  }
  return bar;
}

void add_card(std::string& out, const Value& device, const json::Array& processes,
              const Style& style) {
  const int64_t index = integer(device, "index");
  const int64_t total = integer(device, "total_bytes");
  out += "\n" + paint(style, Ink::bold, "card " + format_integer(index)) + "  " +
         text(device, "gpu") + ", " + size_text(style, total) + "\n";
  out += "  " + card_bar(device, processes, style) + "\n";
  out += paint(style, Ink::dim,
               "    " + pad_right("", 24) + pad_left("finds free", 13) + pad_left("takes", 13) +
                   pad_left("needs", 13)) +
         "\n";
  const auto row = [&](const std::string& name, std::string_view found, std::string_view takes,
                       std::string_view needs) {
    out += "  " + name + pad_left(found, 13) + pad_left(takes, 13) +
           (needs.empty() ? "" : pad_left(needs, 13)) + "\n";
  };
  if (const int64_t used = integer(device, "used_bytes"); used > 0) {
    row("#   " + pad_right("in use before", 22), "", size_text(style, used), "");
  }
  for (size_t i = 0; i < processes.size(); ++i) {
    const Value* here = on_card(processes[i], index);
    if (here == nullptr) continue;
    const bool starts = member(processes[i], "starts").as_boolean();
    row(paint(style, ink_of(i), letter_of(i)) + " " + mark(style, text(processes[i], "outcome")) +
            pad_right(elide_middle(text(processes[i], "name"), 22, style), 22),
        size_text(style, integer(*here, "found_free_bytes")),
        starts ? size_text(style, integer(*here, "takes_bytes")) : std::string("-"),
        size_text(style, integer(*here, "need_bytes")));
  }
  row(".   " + pad_right("free in the end", 22), "",
      size_text(style, integer(device, "free_bytes")), "");
}

void add_host(std::string& out, const Value& host, const Style& style) {
  const int64_t taken = integer(host, "taken_bytes"), peak = integer(host, "peak_bytes");
  const int64_t ram = integer(host, "ram_bytes");
  if (taken == 0 && peak == 0 && ram == 0) return;
  std::string line = "host memory: " + size_text(style, taken);
  if (ram > 0) line += " of " + size_text(style, ram);
  line += " held";
  if (peak > taken) line += ", " + size_text(style, peak) + " while loading";
  out += "\n" + wrap(line, style.width, 2) + "\n";
}

void add_program(std::string& out, const Value& process, size_t index, const Style& style) {
  if (text(process, "kind") != "server") return;
  out +=
      "  " + paint(style, ink_of(index), letter_of(index)) + " " +
      mark(style, text(process, "outcome")) +
      wrap(text(process, "name") + ": " + text(process, "model") + ", " + text(process, "engine"),
           style.width, 6, 6) +
      "\n";
  out += "      " + wrap(text(process, "answer"), style.width, 6, 6) + "\n";
  if (process.find("engine_error") != nullptr) {
    out += "      " +
           paint(style, Ink::dim,
                 wrap("it prints: " + text(process, "engine_error"), style.width, 8, 6)) +
           "\n";
  }
  const Value& plan = member(process, "plan");
  if (text(process, "outcome") != "fits") {
    for (const Value& lever : member(plan, "levers").as_array()) {
      if (text(lever, "outcome") != "fits") continue;
      if (member(lever, "set").find("hardware") != nullptr) continue;  // the node is as it is
      std::string line = "on what is left, it fits with: " + text(lever, "change");
      const std::string option = text(lever, "option");
      if (!option.empty()) line += option[0] == '(' ? " " + option : " (" + option + ")";
      out += "      " + wrap(line, style.width, 6, 6) + "\n";
      break;
    }
  }
  if (plan.find("command") != nullptr) {
    out += "      " + paint(style, Ink::dim, lines(plan, "command", 6)) + "\n";
  }
  for (const Value& note : member(plan, "warnings").as_array()) {
    out += "      " + paint(style, Ink::yellow, "warning:") + " " +
           wrap(text(note, "text"), style.width, 8, 15) + "\n";
  }
}

void add_changes(std::string& out, const Value& block, const Style& style) {
  const json::Array& changes = member(block, "changes").as_array();
  out += "\n" + paint(style, Ink::bold, "What would help") + "\n";
  if (changes.empty()) {
    out += "  " +
           wrap(
               "No other start order and no other shares of the cards make all of them fit: ask "
               "for less, move a program to another card, or take a larger one.",
               style.width, 2, 2) +
           "\n";
    return;
  }
  for (const Value& change : changes) {
    out += "  " + mark(style, text(change, "outcome")) +
           wrap(text(change, "change"), style.width, 4, 4) + "\n";
    for (const Value& option : member(change, "options").as_array()) {
      out += "    " + pad_right(elide_middle(text(option, "name"), 22, style), 22) + "  " +
             text(option, "option") + "\n";
    }
    out += "    " +
           paint(style, Ink::dim, wrap("costs: " + text(change, "cost"), style.width, 4, 4)) + "\n";
  }
}

}  // namespace

std::string node_text(const Value& answer, const Style& style) {
  const Value& block = member(answer, "node");
  const std::string outcome = text(answer, "outcome");
  std::string out =
      mark(style, outcome) +
      paint(style, outcome_ink(outcome), wrap(text(answer, "answer"), style.width, 2, 2)) + "\n";
  const json::Array& processes = member(block, "processes").as_array();
  for (const Value& device : member(block, "devices").as_array()) {
    add_card(out, device, processes, style);
  }
  add_host(out, member(block, "host"), style);
  out += "\n" + paint(style, Ink::bold, "Servers") + ", in start order\n";
  for (size_t i = 0; i < processes.size(); ++i) add_program(out, processes[i], i, style);
  if (outcome != "fits") add_changes(out, block, style);
  for (const Value& note : member(answer, "warnings").as_array()) {
    out += paint(style, Ink::yellow, "warning:") + " " +
           wrap(text(note, "text"), style.width, 2, 9) + "\n";
  }
  return out;
}

}  // namespace vramwise::report
