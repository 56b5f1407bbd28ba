#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "report/fields.h"
#include "report/lever_lines.h"
#include "report/outcome.h"
#include "report/placement_text.h"
#include "report/text.h"

namespace vramwise::report {
namespace {

using json::Value;

struct Part {
  std::string_view key;
  std::string_view label;
  Ink ink;
};
constexpr std::array kParts = {
    Part{"weights", "weights", Ink::blue}, Part{"kv_cache", "KV cache", Ink::magenta},
    Part{"activations", "activations", Ink::cyan}, Part{"runtime", "runtime", Ink::yellow}};

// "llama-3.1-70b, Q4_K_M, llama.cpp, 1 x h100-sxm of 79.19 GiB, 2 x 65,536 tokens"
// "2 x rtx-4090 of 23.64 GiB", "1 x rtx-4090 of 23.64 GiB + 1 x rtx-3060-12 of 11.76 GiB"
std::string cards_of(const json::Array& devices) {
  std::string cards;
  for (size_t i = 0, next = 0; i < devices.size(); i = next) {
    const std::string gpu = text(devices[i], "gpu");
    const int64_t total = integer(devices[i], "total_bytes");
    while (next < devices.size() && text(devices[next], "gpu") == gpu &&
           integer(devices[next], "total_bytes") == total) {
      ++next;
    }
    cards += (cards.empty() ? "" : " + ") + format_integer(int64_t(next - i)) + " x " + gpu +
             " of " + format_bytes(Bytes(total));
  }
  return cards;
}

std::string subject(const Value& answer) {
  const Value& model = member(answer, "model");
  const Value& engine = member(answer, "engine");
  std::string line =
      text(model, "id") + ", " + text(model, "weights") + ", " + text(engine, "name");
  if (engine.find("version") != nullptr) line += " " + text(engine, "version");
  const json::Array& devices = member(answer, "devices").as_array();
  if (devices.empty()) {
    line += ", CPU only";
  } else {
    line += ", " + cards_of(devices);
  }
  const Value& workload = member(answer, "workload");
  const int64_t tokens = integer(workload, "sequence_tokens");
  const int64_t concurrency = integer(workload, "concurrency");
  if (tokens > 0 && concurrency > 0) {
    line += ", " + format_grouped(concurrency) + " x " + format_grouped(tokens) + " tokens";
  } else if (tokens > 0) {
    line += ", sequences of " + format_grouped(tokens) + " tokens";
  } else if (concurrency > 0) {
    line += ", " + format_grouped(concurrency) + " at a time";
  }
  return line;
}

int fullest(const Value& answer) {
  const json::Array& devices = member(answer, "devices").as_array();
  size_t best = 0;
  for (size_t i = 1; i < devices.size(); ++i) {
    if (integer(devices[i], "free_bytes") < integer(devices[best], "free_bytes")) best = i;
  }
  return int(best);
}

void add_components(std::string& out, const Value& answer, const Style& style) {
  const json::Array& devices = member(answer, "devices").as_array();
  const Value& totals = member(answer, "totals");
  const int64_t total = integer(totals, "total_bytes");
  int64_t card = total;
  int64_t used = 0;
  if (!devices.empty()) {
    const Value& device = devices[size_t(fullest(answer))];
    card = integer(device, "total_bytes");
    used = integer(device, "used_bytes");
  }
  const double whole = double(std::max<int64_t>(1, std::max(card, total)));
  const int bar_columns = std::clamp((style.width > 0 ? style.width : 80) - 44, 8, 40);
  const auto row = [&](std::string_view label, int64_t bytes, Ink ink, bool with_bar) {
    std::string line = "  " + pad_right(label, 12) + pad_left(size_text(style, bytes), 14) +
                       pad_left(percent(double(bytes) / double(std::max<int64_t>(1, card))), 9);
    if (with_bar) {
      const std::string drawn = bar(double(bytes) / whole, bar_columns, style);
      if (!drawn.empty()) line += "  " + paint(style, ink, drawn);
    }
    out += line + "\n";
  };
  if (devices.size() > 1) out += "  on each card, the fullest shown\n";
  for (const Part& part : kParts) {
    row(part.label, integer(totals, std::string(part.key) + "_bytes"), part.ink, true);
  }
  row("total", total, Ink::plain, false);
  if (used > 0) row("others", used, Ink::dim, true);
  if (!devices.empty()) row("free", card - used - total, Ink::dim, true);
  const int64_t low = integer(totals, "total_low_bytes");
  const int64_t high = integer(totals, "total_high_bytes");
  if (high > low && high > 0) {
    out += paint(style, Ink::dim,
                 "  " + wrap("total between " + size_text(style, low) + " and " +
                                 size_text(style, high),
                             style.width, 4, 2)) +
           "\n";
  }
  // The three readings: what the work needs, what the engine takes, the worst moment.
  const Value& readings = member(answer, "readings");
  std::string three;
  for (const std::string_view name : {"need", "reserve", "peak"}) {
    const int64_t bytes = integer(member(readings, name), "total_bytes");
    if (bytes > 0) {
      three += (three.empty() ? "" : ", ") + std::string(name) + " " + size_text(style, bytes);
    }
  }
  if (!three.empty()) {
    out += paint(style, Ink::dim, "  " + wrap(three, style.width, 4, 2)) + "\n";
  }
  // Host memory, where the engine puts some of the model there.
  int64_t host = 0;
  for (const Value& item : member(answer, "ledger").as_array()) {
    if (member(item, "device").is_string()) host += integer(item, "bytes");
  }
  if (host > 0 && !devices.empty()) {
    out += "  " + pad_right("host RAM", 12) + pad_left(size_text(style, host), 14) + "\n";
  }
}

void add_capacity(std::string& out, const Value& answer, const Style& style) {
  const Value& kv = member(answer, "kv");
  std::vector<std::string> facts;
  const int64_t per_token = integer(kv, "bytes_per_token");
  if (per_token > 0) {
    const bool several = member(answer, "devices").as_array().size() > 1;
    facts.push_back(format_grouped(per_token) + " B a token" +
                    (several ? " on the fullest card" : ""));
  }
  if (integer(kv, "pool_tokens") > 0) {
    facts.push_back("room for " + format_grouped(integer(kv, "pool_tokens")) + " tokens");
  }
  const int64_t users = answer.find("users") != nullptr ? integer(answer, "users") : -1;
  const int64_t asked = integer(member(answer, "workload"), "sequence_tokens");
  const int64_t longest = integer(kv, "max_sequence_tokens");
  if (users >= 0) {
    // What nobody fits is the model's own length, not the one that the pool would hold.
    const int64_t length = asked > 0 || users == 0 ? asked : longest;
    facts.push_back(format_grouped(users) + (users == 1 ? " user" : " users") +
                    (length > 0   ? " at " + format_grouped(length) + " tokens"
                     : users == 0 ? " of the full length"
                                  : ""));
  }
  const int64_t concurrency =
      std::max<int64_t>(1, integer(member(answer, "workload"), "concurrency"));
  if (integer(answer, "longest_sequence_tokens") > 0) {
    facts.push_back("longest context " +
                    format_grouped(integer(answer, "longest_sequence_tokens")) + " tokens" +
                    (concurrency > 1 ? " for " + format_grouped(concurrency) + " users" : ""));
  }
  if (facts.empty()) return;
  out += "\n" + paint(style, Ink::bold, "Capacity") + "\n";
  out += "  " + wrap(join(facts, "; "), style.width, 2, 2) + "\n";
}

void add_notes(std::string& out, const Value& answer, const Style& style) {
  const json::Array& warnings = member(answer, "warnings").as_array();
  for (const Value& note : warnings) {
    out += paint(style, Ink::yellow, "warning:") + " " +
           wrap(text(note, "text"), style.width, 2, 9) + "\n";
  }
  const json::Array& assumptions = member(answer, "assumptions").as_array();
  if (assumptions.empty()) return;
  const size_t shown =
      style.verbosity > 0 ? assumptions.size() : std::min<size_t>(assumptions.size(), 4);
  out += "\n" + paint(style, Ink::bold, "Assumed") + "\n";
  for (size_t i = 0; i < shown; ++i) {
    out += "  - " + wrap(text(assumptions[i], "text"), style.width, 4, 4) + "\n";
  }
  if (shown < assumptions.size()) {
    out += paint(style, Ink::dim,
                 "  " + format_integer(int64_t(assumptions.size() - shown)) + " more with -v") +
           "\n";
  }
}

// A command under its heading; the end of a here-document has to stand at the margin.
std::string pasted(const std::string& command) {
  return (command.find('\n') == std::string::npos ? "  " : "") + command;
}

// What has to change in the command first, as a comment of the shell.
std::string before_use(const Value& answer, const Style& style) {
  for (const Value& note : member(answer, "assumptions").as_array()) {
    if (text(note, "id") != "weights_repository") continue;
    return "  # " + replace_all(wrap(text(note, "text"), style.width, 4), "\n", "\n  # ") + "\n";
  }
  return {};
}

std::string head(const Value& answer, const Style& style) {
  const std::string outcome = text(answer, "outcome");
  std::string out =
      mark(style, outcome) +
      paint(style, outcome_ink(outcome), wrap(text(answer, "answer"), style.width, 2, 2)) + "\n";
  if (answer.find("engine_error") != nullptr) {
    const char* const lead = outcome == "tight" ? "should it refuse, it prints: " : "it prints: ";
    out += paint(style, Ink::dim,
                 "  " + wrap(lead + text(answer, "engine_error"), style.width, 4, 2)) +
           "\n";
  }
  if (outcome != "fits") {
    for (const Value& lever : member(answer, "levers").as_array()) {
      if (!reaches(lever)) continue;
      std::string line = "Cheapest change that fits: " + text(lever, "change");
      const std::string option = lever.find("option") != nullptr ? text(lever, "option") : "";
      if (!option.empty()) line += option.front() == '(' ? " " + option : " (" + option + ")";
      out += "  " + wrap(line, style.width, 2, 2) + "\n";
      break;
    }
  }
  out += "\n" + wrap(subject(answer), style.width, 2) + "\n\n";
  return out;
}

std::string plan_text(const Value& answer, const Style& style) {
  std::string out = head(answer, style);
  add_components(out, answer, style);
  add_capacity(out, answer, style);
  out += load_lines(member(answer, "workload"), style);
  add_placement(out, answer, style);
  out += options_text(answer, style);
  out += lever_lines(answer, style);
  add_notes(out, answer, style);
  if (answer.find("command") != nullptr) {
    out += "\n" + paint(style, Ink::bold, "Run it") + "\n" + before_use(answer, style) +
           pasted(lines(answer, "command", 0)) + "\n";
  }
  return out;
}

}  // namespace

std::string error_text(const Value& answer, const Style& style) {
  const Value& error = member(answer, "error");
  std::string out = paint(style, Ink::red, "error:") + " " + text(error, "message") + "\n";
  if (error.find("where") != nullptr) out += "  --> " + text(error, "where") + "\n";
  for (const Value& hint : member(error, "hints").as_array()) {
    out += "  help: " + safe(hint.as_string()) + "\n";
  }
  return out;
}

std::string explain_text(const Value& answer, const Style& style) {
  std::string out = head(answer, style);
  const json::Array& ledger = member(answer, "ledger").as_array();
  std::string component;
  for (const Value& row : ledger) {
    const std::string here = text(row, "component");
    if (here != component) {
      if (!component.empty()) out += "\n";
      component = here;
      std::string label = here;
      std::replace(label.begin(), label.end(), '_', ' ');
      out += paint(style, Ink::bold, label) + "\n";
    }
    const Value& device = member(row, "device");
    std::string line =
        "  " + pad_left(size_text(style, integer(row, "bytes")), 14) + "  " + text(row, "item") +
        " (" +
        (device.is_string() ? std::string("host") : "card " + format_integer(device.as_integer())) +
        ", " + text(row, "basis") + ")";
    out += line + "\n";
    if (row.find("low_bytes") != nullptr) {
      out += "                  between " + size_text(style, integer(row, "low_bytes")) + " and " +
             size_text(style, integer(row, "high_bytes")) + "\n";
    }
    if (row.find("formula") != nullptr) {
      out += "                  " + wrap("= " + text(row, "formula"), style.width, 20, 18) + "\n";
    }
    if (row.find("source") != nullptr) {
      out += "                  " +
             paint(style, Ink::dim, wrap(text(row, "source"), style.width, 18, 18)) + "\n";
    }
  }
  out += "\n" + paint(style, Ink::bold, "What must hold") + "\n";
  for (const Value& r : member(answer, "requirements").as_array()) {
    const bool bytes = text(r, "unit") == "bytes";
    const auto amount = [&](std::string_view key) {
      return bytes ? size_text(style, integer(r, key))
                   : format_grouped(integer(r, key)) + " " + text(r, "unit");
    };
    out += "  " + pad_right(text(r, "what"), 18) + pad_left(amount("needed"), 14) + " of " +
           amount("available") + " (" + text(r, "phase") + ")\n";
  }
  const json::Array& log = member(answer, "log").as_array();
  if (!log.empty()) {
    out += "\n" + paint(style, Ink::bold, "It will print") + "\n";
    for (const Value& line : log) {
      const std::string unit = text(line, "unit");
      const Value& value = member(line, "value");
      out += "  " + text(line, "line") + ": " +
             (unit == "bytes" ? format_bytes(Bytes(integer(line, "value")))
              : value.is_integer() || value.as_double() == double(int64_t(value.as_double()))
                  ? format_grouped(int64_t(value.as_double())) + (unit.empty() ? "" : " " + unit)
                  : format_fixed(value.as_double(), 2) + (unit.empty() ? "" : " " + unit)) +
             "\n";
    }
  }
  Style all = style;
  all.verbosity = std::max(1, style.verbosity);
  add_notes(out, answer, all);
  return out;
}

std::string to_text(const Value& answer, const Style& style) {
  if (answer.find("error") != nullptr) return error_text(answer, style);
  if (answer.find("inspect") != nullptr) return inspect_text(answer, style);
  if (answer.find("diff") != nullptr) return diff_text(answer, style);
  if (answer.find("catalog") != nullptr) return catalog_text(answer, style);
  if (answer.find("launch") != nullptr) return launch_text(answer, style);
  if (answer.find("verify") != nullptr) return verify_text(answer, style);
  if (answer.find("max") != nullptr) return max_text(answer, style);
  if (answer.find("gpus") != nullptr) return gpus_text(answer, style);
  if (answer.find("models") != nullptr) return models_text(answer, style);
  if (answer.find("node") != nullptr) return node_text(answer, style);
  if (answer.find("check") != nullptr) return check_text(answer, style);
  if (answer.find("compare") != nullptr) return compare_text(answer, style);
  if (answer.find("simulate") != nullptr) return simulate_text(answer, style);
  // A manifest goes to a file or to kubectl as it is: the verdict stands in its first comment.
  if (const Value* manifest = answer.find("manifest")) return member(*manifest, "text").as_string();
  if (answer.find("outcome") == nullptr) return json::dump(answer, 2) + "\n";
  return style.verbosity > 1 ? explain_text(answer, style) : plan_text(answer, style);
}

}  // namespace vramwise::report
