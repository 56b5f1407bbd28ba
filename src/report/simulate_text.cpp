#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "report/fields.h"
#include "report/table.h"
#include "report/text.h"

namespace vramwise::report {

using json::Value;

namespace {

double number(const Value& v, std::string_view key) { return member(v, key).as_double(); }

std::string seconds_text(double s) {
  if (s < 0.001) return format_fixed(s * 1e6, 0) + " us";
  if (s < 1) return format_fixed(s * 1e3, s < 0.01 ? 2 : s < 0.1 ? 1 : 0) + " ms";
  return format_fixed(s, s < 10 ? 2 : s < 100 ? 1 : 0) + " s";
}

// "1 h 12 min", for axes.
std::string span_text(double s) {
  if (s < 120) return format_fixed(s, s < 10 ? 1 : 0) + " s";
  if (s < 7200) return format_fixed(s / 60, 0) + " min";
  return format_fixed(s / 3600, 1) + " h";
}

// Columns of the pool in use over time; the upper end of each column's range as a dot.
std::string occupancy_picture(const Value& timeline, const Style& style) {
  const json::Array& mean = member(timeline, "mean").as_array();
  const json::Array& high = member(timeline, "high").as_array();
  if (mean.size() < 2) return "";
  constexpr int kRows = 8;
  const int columns = std::clamp((style.width > 0 ? style.width : 80) - 12, 16, 128);
  const auto column_of = [&](const json::Array& list, int c, bool most) {
    const size_t from = size_t(c) * list.size() / size_t(columns);
    const size_t to = std::max(from + 1, size_t(c + 1) * list.size() / size_t(columns));
    double value = 0;
    for (size_t i = from; i < std::min(to, list.size()); ++i) {
      value = most ? std::max(value, list[i].as_double()) : value + list[i].as_double();
    }
    return most ? value : value / double(std::max<size_t>(1, std::min(to, list.size()) - from));
  };
  static constexpr std::array<std::string_view, 9> kEighths = {" ", "▁", "▂", "▃", "▄",
                                                               "▅", "▆", "▇", "█"};
  std::string out = "\n  cache in use over time\n";
  for (int row = kRows - 1; row >= 0; --row) {
    const int percent = (row + 1) * 100 / kRows;
    out += "  " + pad_left(row % 2 == 1 ? format_integer(percent) + " %" : "", 6) + " ";
    out += style.unicode ? "│" : "|";
    std::string drawn;
    for (int c = 0; c < columns; ++c) {
      const double level = column_of(mean, c, false) * kRows - row;
      const double top = column_of(high, c, true) * kRows - row;
      if (style.unicode) {
        const int eighths = std::clamp(int(level * 8 + 0.5), 0, 8);
        drawn += eighths == 0 && top > 0 && top <= 1 ? std::string("·")
                                                     : std::string(kEighths[size_t(eighths)]);
      } else {
        drawn += level >= 0.5 ? "#" : top > 0 && top <= 1 ? "." : " ";
      }
    }
    while (!drawn.empty() && drawn.back() == ' ') drawn.pop_back();
    out += paint(style, Ink::magenta, drawn) + "\n";
  }
  const double span = number(timeline, "seconds_per_point") * double(mean.size());
  const std::string end = span_text(span);
  std::string line;
  for (int c = 0; c < columns; ++c) line += style.unicode ? "─" : "-";
  out += "         " + std::string(style.unicode ? "└" : "+") + line + "\n";
  out += "         0" + pad_left(end, columns) + "\n";
  return out;
}

void add_row(Table& table, std::string name, const Value& spread) {
  if (spread.find("p50") == nullptr) return;
  table.add({std::move(name), seconds_text(number(spread, "mean")),
             seconds_text(number(spread, "p50")), seconds_text(number(spread, "p95")),
             seconds_text(number(spread, "p99"))});
}

std::string paragraph(const std::string& label, const std::string& words, const Style& style) {
  return "  " + pad_right(label, 13) + wrap(words, style.width, 15, 15) + "\n";
}

std::string lengths_words(const Value& lengths) {
  const Value& prompt = member(lengths, "prompt");
  const Value& output = member(lengths, "output");
  return text(lengths, "name") + ": prompts of " + format_grouped(integer(prompt, "p50")) +
         " tokens (median; p95 " + format_grouped(integer(prompt, "p95")) + "), answers of " +
         format_grouped(integer(output, "p50")) + " (median; p95 " +
         format_grouped(integer(output, "p95")) + "), together p99 " +
         format_grouped(integer(member(lengths, "total"), "p99"));
}

std::string users_words(const Value& users) {
  std::string words = format_grouped(integer(users, "p99")) + " at p99 of occupancy, " +
                      format_grouped(integer(users, "p95")) + " at p95, " +
                      format_grouped(integer(users, "p50")) + " at p50";
  if (users.find("limited_by") != nullptr) words += " (the most sequences the server takes)";
  if (users.find("worst_case") != nullptr) {
    words += "; worst case " + format_grouped(integer(users, "worst_case")) + " of " +
             format_grouped(integer(users, "worst_case_tokens")) + " tokens each, " +
             format_grouped(integer(users, "worst_case_at_p99_length")) + " of the p99 length";
  }
  return words;
}

}  // namespace

// The lines that `plan` adds where lengths are given.
std::string load_lines(const Value& workload, const Style& style) {
  if (workload.find("users") == nullptr) return "";
  std::string out = "\n" + paint(style, Ink::bold, "With these lengths") + "\n";
  out += paragraph("lengths", lengths_words(member(workload, "lengths")), style);
  out += paragraph("users", users_words(member(workload, "users")), style);
  return out;
}

std::string simulate_text(const Value& answer, const Style& style) {
  const Value& block = member(answer, "simulate");
  std::string out = paint(style, Ink::bold, wrap(text(block, "answer"), style.width, 2)) + "\n";
  if (block.find("occupancy") == nullptr) return out;  // a single scenario
  if (block.find("caveat") != nullptr) {
    out += paint(style, Ink::yellow, "! ") + wrap(text(block, "caveat"), style.width, 2, 2) + "\n";
  }
  out += "\n";
  out += paragraph("lengths", lengths_words(member(block, "lengths")), style);
  out += paragraph("users", users_words(member(block, "users")), style);
  const Value& load = member(block, "load");
  std::string arrivals = text(load, "kind");
  if (load.find("users") != nullptr) {
    arrivals = format_grouped(integer(load, "users")) +
               (integer(load, "users") == 1 ? " user, one request at a time"
                                            : " users, one request each at a time");
  } else if (load.find("rate_per_second") != nullptr) {
    const double saturation = number(load, "saturation_rate_per_second");
    arrivals += ", " + format_fixed(number(load, "rate_per_second"), 2) + " requests/s, load " +
                percent(number(load, "load"), 0) + " of saturation at " +
                format_fixed(saturation, saturation < 10 ? 2 : 1) + "/s";
  }
  if (load.find("block_seconds") != nullptr) {
    arrivals += ", drawn anew by every repetition in pieces of " +
                format_grouped(int64_t(number(load, "block_seconds"))) + " s";
  }
  if (const Value* servers = block.find("servers")) {
    arrivals += "; " + format_grouped(integer(*servers, "count")) + " servers, ";
    const std::string router = text(*servers, "router");
    arrivals += router.empty()            ? text(*servers, "split")
                : router == "round_robin" ? "in turn"
                                          : "each to the one with least to do";
  }
  out += paragraph("arrivals", arrivals, style);
  const Value& occupancy = member(block, "occupancy");
  out += paragraph(
      "occupancy",
      percent(number(occupancy, "p50"), 0) + " at p50, " + percent(number(occupancy, "p95"), 0) +
          " at p95, " + percent(number(occupancy, "p99"), 0) + " at p99; " +
          format_fixed(number(block, "mean_running"), 0) + " requests running on average",
      style);
  const Value& waiting = member(block, "waiting");
  const Value& causes = member(waiting, "causes");
  out += paragraph(
      "waiting",
      percent(number(waiting, "share")) + " of requests (memory " +
          percent(number(causes, "memory")) + ", sequences " +
          percent(number(causes, "sequences")) + ", budget " + percent(number(causes, "budget")) +
          "); " + format_fixed(number(block, "preemptions_per_1000"), 1) + " preemptions per 1,000",
      style);
  const Value& throughput = member(block, "throughput");
  out += paragraph("throughput",
                   format_fixed(number(throughput, "requests_per_second"), 2) + " requests/s, " +
                       format_grouped(int64_t(number(throughput, "output_tokens_per_second"))) +
                       " answer tokens/s",
                   style);
  if (const Value* slo = block.find("slo")) {
    std::string words = percent(number(*slo, "share")) + " of requests:";
    if (slo->find("ttft_seconds") != nullptr) {
      words += " first token within " + seconds_text(number(*slo, "ttft_seconds")) + " (" +
               percent(number(*slo, "ttft_share")) + ")";
    }
    if (slo->find("tpot_seconds") != nullptr) {
      words += std::string(slo->find("ttft_seconds") != nullptr ? "," : "") +
               " each further within " + seconds_text(number(*slo, "tpot_seconds")) + " (" +
               percent(number(*slo, "tpot_share")) + ")";
    }
    const Value* goodput = block.find("goodput");
    if (const Value* servers = goodput != nullptr ? goodput->find("replicas") : nullptr) {
      const int64_t n = servers->as_integer();
      words += "; " + format_grouped(n) + (n == 1 ? " server keeps" : " servers keep") +
               " it at this rate, one more with a spare";
    }
    out += paragraph("promise", words, style);
  }
  if (const Value* cost = block.find("cost")) {
    std::string words = "$" + format_fixed(number(*cost, "usd_per_million_output_tokens"), 2) +
                        " per million answer tokens (" + format_fixed(number(*cost, "low"), 2) +
                        " to " + format_fixed(number(*cost, "high"), 2) + "), $" +
                        format_fixed(number(*cost, "usd_per_million_tokens"), 3) +
                        " over prompts and answers; " + text(*cost, "offer") + " at $" +
                        format_fixed(number(*cost, "usd_per_hour"), 2) + " an hour";
    if (cost->find("price_date") != nullptr) words += " on " + text(*cost, "price_date");
    out += paragraph("cost", words, style);
  }
  Table table({{"", Align::left, 0},
               {"mean", Align::right, 1},
               {"p50", Align::right, 0},
               {"p95", Align::right, 0},
               {"p99", Align::right, 0}});
  add_row(table, "queue", member(waiting, "queue_seconds"));
  add_row(table, "first token", member(block, "ttft_seconds"));
  add_row(table, "between tokens", member(block, "inter_token_seconds"));
  add_row(table, "mean of each request", member(block, "tpot_seconds"));
  out += "\n" + table.draw(style);
  out += occupancy_picture(member(block, "timeline"), style);
  const Value& step = member(block, "step_time");
  out += "\n";
  out += paragraph("a step",
                   format_fixed(number(step, "one_user_ms"), 1) + " ms for one user, " +
                       format_fixed(number(step, "sixteen_users_ms"), 1) + " ms for sixteen, " +
                       format_fixed(number(step, "prefill_1000_tokens_ms"), 1) +
                       " ms for a prompt of 1,000 tokens; the bar is x" +
                       format_fixed(number(step, "low_factor"), 2) + " to x" +
                       format_fixed(number(step, "high_factor"), 2),
                   style);
  const Value& run = member(block, "run");
  // The 95 % interval of what the repetitions disagree on.
  std::string interval;
  if (run.find("half_width_share") != nullptr) {
    const auto share = [](const Value& figure, std::string_view key, std::string_view width) {
      const double value = number(figure, key);
      return percent(value > 0 ? number(figure, width) / value : 0);
    };
    interval = "; p99 of occupancy within " + share(occupancy, "p99", "p99_half_width") +
               ", of first token " + share(member(block, "ttft_seconds"), "p99", "p99_half_width") +
               ", rate " + share(throughput, "requests_per_second", "half_width");
  }
  out += paragraph("simulated",
                   format_grouped(integer(run, "requests")) + " requests in " +
                       format_grouped(integer(run, "steps")) + " steps, " +
                       format_integer(integer(run, "replications")) + " repetitions, seed " +
                       format_integer(integer(run, "seed")) + interval,
                   style);
  for (const std::string_view kind : {"warnings", "assumptions"}) {
    for (const Value& note : member(answer, kind).as_array()) {
      out += (kind == "warnings" ? paint(style, Ink::yellow, "! ") : std::string("- ")) +
             wrap(text(note, "text"), style.width, 2, 2) + "\n";
    }
  }
  return out;
}

}  // namespace vramwise::report
