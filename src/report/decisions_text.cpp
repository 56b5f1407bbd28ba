#include <algorithm>
#include <vector>

#include "base/text.h"
#include "report/cards_text.h"
#include "report/fields.h"
#include "report/table.h"
#include "report/text.h"

namespace vramwise::report {

using json::Value;

namespace {

std::string answer_line(const Value& block, const Style& style) {
  return paint(style, Ink::bold, wrap(text(block, "answer"), style.width, 2)) + "\n";
}

std::string dollars(const Value& choice) {
  return choice.find("usd_per_hour") != nullptr
             ? format_fixed(member(choice, "usd_per_hour").as_double(), 2)
             : std::string("-");
}

// What a million answer tokens cost; "~" by formula alone.
std::string million(const Value& choice) {
  if (choice.find("usd_per_million_output_tokens") == nullptr) return "-";
  return (member(choice, "screening").as_boolean() ? "~" : "") +
         format_fixed(member(choice, "usd_per_million_output_tokens").as_double(), 2);
}

}  // namespace

std::string max_text(const Value& answer, const Style& style) {
  const Value& block = member(answer, "max");
  std::string out = answer_line(block, style);
  if (block.find("explanation") != nullptr) {
    out += "  " + wrap("one more: " + text(block, "explanation"), style.width, 4, 2) + "\n";
  }
  if (block.find("plan") == nullptr && block.find("explanation") != nullptr) {
    out += "  " + wrap("what would help: the same question to `vramwise plan`", style.width, 4, 2) +
           "\n";
  }
  if (block.find("caveat") != nullptr) {
    out += paint(style, Ink::yellow, "! ") + wrap(text(block, "caveat"), style.width, 2, 2) + "\n";
  }
  if (const Value* plan = block.find("plan")) {
    out += "\n" + to_text(*plan, style);
  }
  return out;
}

std::string gpus_text(const Value& answer, const Style& style) {
  const Value& block = member(answer, "gpus");
  std::string out = answer_line(block, style);
  const json::Array& choices = member(block, "choices").as_array();
  if (choices.empty()) return out;
  const bool costs = std::any_of(choices.begin(), choices.end(), [](const Value& choice) {
    return choice.find("usd_per_million_output_tokens") != nullptr;
  });
  std::vector<Column> columns = {{"GPU", Align::left, 0},        {"n", Align::right, 0},
                                 {"layout", Align::left, 3},     {"users", Align::right, 0},
                                 {"GiB taken", Align::right, 2}, {"GiB free", Align::right, 1},
                                 {"$/h", Align::right, 0}};
  if (costs) columns.push_back({"$/M tokens", Align::right, 0});
  columns.push_back({"offer", Align::left, 4});
  columns.push_back({"of", Align::left, 5});
  Table table(std::move(columns));
  // The page shows everything; a terminal the whole front and the cheapest of the others.
  const size_t most = style.verbosity > 0 ? choices.size() : 25;
  const auto on_front = [](const Value& choice) { return member(choice, "pareto").as_boolean(); };
  const auto front = size_t(std::count_if(choices.begin(), choices.end(), on_front));
  size_t others = most - std::min(most, front), left_out = 0;
  for (const Value& choice : choices) {
    if (!on_front(choice)) {
      if (others == 0) {
        ++left_out;
        continue;
      }
      --others;
    }
    std::vector<std::string> cells = {
        (on_front(choice) ? "* " : "  ") + text(choice, "gpu"),
        format_integer(integer(choice, "count")),
        text(choice, "layout"),
        choice.find("users") != nullptr ? format_grouped(integer(choice, "users")) : "-",
        format_gib(Bytes(integer(choice, "taken_bytes")), 1),
        format_gib(Bytes(integer(choice, "free_bytes")), 1),
        dollars(choice)};
    if (costs) cells.push_back(million(choice));
    cells.push_back(text(choice, "offer"));
    cells.push_back(text(choice, "price_date"));
    table.add(std::move(cells));
  }
  out += "\n" + table.draw(style);
  out += "\n* no other choice costs less and serves as many users\n";
  out += wrap("plan the first with: " + cards_flags(choices.front()), style.width, 2) + "\n";
  if (costs) {
    out += wrap(
               "$/M tokens: per million answer tokens at the highest rate within the promise; ~ by "
               "formula, not simulated",
               style.width, 2) +
           "\n";
  }
  if (left_out > 0) {
    out += paint(style, Ink::dim, format_integer(int64_t(left_out)) + " more with -v") + "\n";
  }
  return out;
}

std::string models_text(const Value& answer, const Style& style) {
  const Value& block = member(answer, "models");
  std::string out = answer_line(block, style);
  const json::Array& choices = member(block, "choices").as_array();
  if (choices.empty()) return out;
  Table table({{"model", Align::left, 0},
               {"billions", Align::right, 0},
               {"active", Align::right, 2},
               {"weights", Align::left, 0},
               {"users", Align::right, 1},
               {"longest", Align::right, 1},
               {"GiB free", Align::right, 2}});
  const size_t most = style.verbosity > 0 ? choices.size() : 25;
  const auto is_tight = [](const Value& choice) { return text(choice, "outcome") == "tight"; };
  const bool tight = std::any_of(choices.begin(), choices.end(), is_tight);
  for (size_t i = 0; i < choices.size() && i < most; ++i) {
    const Value& choice = choices[i];
    const std::string mark = !tight ? "" : is_tight(choice) ? "~ " : "  ";
    table.add({mark + text(choice, "model"),
               format_fixed(double(integer(choice, "parameters")) / 1e9, 1),
               format_fixed(double(integer(choice, "active_parameters")) / 1e9, 1),
               text(choice, "weights"),
               choice.find("users") != nullptr ? format_grouped(integer(choice, "users")) : "-",
               choice.find("longest_sequence_tokens") != nullptr
                   ? format_grouped(integer(choice, "longest_sequence_tokens"))
                   : "-",
               format_gib(Bytes(integer(choice, "free_bytes")), 1)});
  }
  out += "\n" + table.draw(style);
  if (tight) {
    out += wrap("~ decided inside the error bars; its plan names the change that makes it certain",
                style.width, 2) +
           "\n";
  }
  if (choices.size() > most) {
    out +=
        paint(style, Ink::dim, format_integer(int64_t(choices.size() - most)) + " more with -v") +
        "\n";
  }
  return out;
}

}  // namespace vramwise::report
