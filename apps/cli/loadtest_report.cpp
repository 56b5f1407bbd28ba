#include "apps/cli/loadtest_report.h"

#include "apps/cli/chart_svg.h"
#include "base/text.h"
#include "report/fields.h"
#include "report/table.h"

namespace vramwise::cli {
namespace {

using json::Value;
using report::Align;
using report::Ink;
using report::member;
using report::Style;

std::string text_of(const Value& object, std::string_view key) {
  return member(object, key).as_string();
}

double number(const Value& value) {
  return value.is_integer() ? double(value.as_integer()) : value.as_double();
}
double figure(const Value& object, std::string_view key) { return number(member(object, key)); }

std::string seconds_text(const Value& spread, std::string_view key) {
  if (spread.find(key) == nullptr) return "";
  const double s = figure(spread, key);
  return s < 1 ? format_fixed(s * 1000, s < 0.01 ? 2 : 0) + " ms" : format_fixed(s, 2) + " s";
}

struct Latency {
  const char* key;
  const char* name;
};
constexpr Latency kLatencies[] = {{"ttft_seconds", "time to first token"},
                                  {"itl_seconds", "between two pieces"},
                                  {"tpot_seconds", "per token of an answer"},
                                  {"request_seconds", "whole request"}};
// The engine's own, at the server: without the network and this program.
constexpr Latency kCounted[] = {{"queue_seconds", "in the engine's queue"},
                                {"ttft_seconds", "first token, as it counts"},
                                {"itl_seconds", "between tokens, as it counts"}};
constexpr const char* kQuantiles[] = {"p50", "p90", "p95", "p99", "max"};

std::string throughput_text(const Value& test) {
  const Value& throughput = member(test, "throughput");
  if (throughput.find("requests_per_second") == nullptr ||
      report::integer(member(test, "requests"), "good") == 0) {
    return "";
  }
  return format_fixed(figure(throughput, "requests_per_second"), 2) + " requests/s, " +
         format_fixed(figure(throughput, "output_tokens_per_second"), 0) +
         " output tokens/s under full load";
}

std::string lengths_text(const Value& test) {
  if (report::integer(member(test, "requests"), "good") == 0) return "";
  const Value& lengths = member(test, "lengths");
  std::string text;
  if (lengths.find("prompt_tokens_mean") != nullptr) {
    text = "prompts of " + format_fixed(figure(lengths, "prompt_tokens_mean"), 0) +
           " tokens (asked " + format_fixed(figure(lengths, "asked_prompt_tokens_mean"), 0) + "), ";
  } else {
    text = "prompts of about " + format_fixed(figure(lengths, "asked_prompt_tokens_mean"), 0) +
           " tokens (the server does not count), ";
  }
  return text + "answers of " + format_fixed(figure(lengths, "output_tokens_mean"), 0) +
         " (asked " + format_fixed(figure(lengths, "asked_output_tokens_mean"), 0) + ")";
}

std::string engine_text(const Value& test) {
  const Value& engine = member(test, "engine");
  if (engine.find("most_running") == nullptr) {
    const std::string fault = text_of(engine, "metrics_fault");
    return fault.empty() ? "" : "no metrics of the engine: " + fault;
  }
  std::string text = text_of(engine, "name") + ": at most " +
                     format_fixed(figure(engine, "most_running"), 0) + " running, " +
                     format_fixed(figure(engine, "most_waiting"), 0) + " waiting";
  if (engine.find("most_cache_use") != nullptr) {
    text += ", cache " + format_fixed(figure(engine, "most_cache_use") * 100, 0) + " % full";
  }
  if (engine.find("mean_cache_use") != nullptr) {
    text += " (" + format_fixed(figure(engine, "mean_cache_use") * 100, 0) + " % on average";
    if (engine.find("expected_cache_use") != nullptr) {
      text += "; these lengths hold " +
              format_fixed(figure(engine, "expected_cache_use") * 100, 0) + " %, " +
              format_fixed(figure(engine, "expected_p99_cache_use") * 100, 0) + " % at p99";
    }
    text += ")";
  }
  if (engine.find("preemptions") != nullptr) {
    text += ", " + format_fixed(figure(engine, "preemptions"), 0) + " preempted";
  }
  const Value& counted = member(engine, "counted");
  if (counted.find("prefix_hit_share") != nullptr) {
    text += ", " + format_fixed(figure(counted, "prefix_hit_share") * 100, 0) +
            " % of the prompts found in its prefix cache";
  }
  return text;
}

// Rows of the table of latencies that the engine counted during the full load.
std::vector<std::pair<std::string, const Value*>> counted_latencies(const Value& test) {
  std::vector<std::pair<std::string, const Value*>> rows;
  const Value& counted = member(member(test, "engine"), "counted");
  for (const Latency& row : kCounted) {
    const Value* spread = counted.find(row.key);
    if (spread != nullptr && spread->find("p50") != nullptr) rows.emplace_back(row.name, spread);
  }
  return rows;
}

std::string plan_text(const Value& test) {
  const Value& plan = member(test, "plan");
  const Value& engine = member(test, "engine");
  if (plan.find("users") == nullptr) return "";
  std::string text =
      "planned: " + format_grouped(report::integer(plan, "users")) + " users of the full length";
  if (plan.find("pool_tokens") != nullptr) {
    text += ", a cache of " + format_grouped(report::integer(plan, "pool_tokens")) + " tokens";
    if (engine.find("cache_tokens") != nullptr) {
      text += "; the server has " + format_grouped(report::integer(engine, "cache_tokens"));
    }
  }
  return text;
}

std::string gib(const Value& object, std::string_view key) {
  return format_gib(Bytes(report::integer(object, key)));
}

std::string settled_text(const Value& card) {
  const Value& settled = member(card, "settled");
  if (!settled.is_boolean()) return "too short to say";
  if (settled.as_boolean()) return "settled";
  return "grows by " + format_bytes(Bytes(report::integer(card, "growth_bytes_per_minute"))) +
         " a minute";
}

}  // namespace

std::string loadtest_text(const Value& document, const Style& style) {
  const Value& test = member(document, "loadtest");
  const bool held = text_of(test, "outcome") == "held";
  std::string out = report::paint(style, held ? Ink::green : Ink::red,
                                  report::wrap(report::text(test, "answer"), style.width, 2)) +
                    "\n";
  const auto line = [&](const std::string& text) {
    if (!text.empty()) out += report::wrap(report::safe(text), style.width, 2) + "\n";
  };
  line(text_of(test, "model") + " at " + text_of(test, "server") + ", " +
       format_fixed(figure(member(test, "load"), "seconds"), 0) + " s");
  out += "\n";
  line(lengths_text(test));
  line(throughput_text(test));
  line(engine_text(test));
  line(plan_text(test));

  report::Table latency({{text_of(test, "latency_of")},
                         {"p50", Align::right},
                         {"p90", Align::right, 2},
                         {"p95", Align::right, 1},
                         {"p99", Align::right},
                         {"max", Align::right, 3}});
  bool any = false;
  for (const Latency& row : kLatencies) {
    const Value& spread = member(test, row.key);
    if (spread.find("p50") == nullptr || report::integer(member(test, "requests"), "good") == 0) {
      continue;
    }
    any = true;
    std::vector<std::string> cells = {row.name};
    for (const char* q : kQuantiles) cells.push_back(seconds_text(spread, q));
    latency.add(std::move(cells));
  }
  for (const auto& [name, spread] : counted_latencies(test)) {
    std::vector<std::string> cells = {name};
    for (const char* q : kQuantiles) cells.push_back(seconds_text(*spread, q));
    latency.add(std::move(cells));
    any = true;
  }
  if (any) out += "\n" + latency.draw(style);

  const Value& memory = member(test, "memory");
  if (memory.is_array() && !memory.as_array().empty()) {
    report::Table table({{"card"},
                         {"GiB before", Align::right, 2},
                         {"peak", Align::right},
                         {"planned", Align::right, 1},
                         {"total", Align::right},
                         {"headroom", Align::right},
                         {"memory"}});
    for (const Value& card : memory.as_array()) {
      table.add({"GPU " + std::to_string(report::integer(card, "index")),
                 gib(card, "start_used_bytes"), gib(card, "peak_used_bytes"),
                 card.find("planned_bytes") != nullptr ? gib(card, "planned_bytes") : "",
                 gib(card, "total_bytes"), gib(card, "headroom_bytes"), settled_text(card)});
    }
    out += "\n" + table.draw(style);
  }
  const Value& kinds = member(member(test, "requests"), "by_kind");
  if (kinds.is_array() && !kinds.as_array().empty()) {
    out += "\nerrors\n";
    for (const Value& kind : kinds.as_array()) {
      const std::string head = "  " + report::text(kind, "kind") + ", " +
                               format_grouped(report::integer(kind, "count")) + " times: ";
      out +=
          head +
          report::wrap(report::text(kind, "example"), style.width, 4, report::display_width(head)) +
          "\n";
    }
  }
  const int64_t unfinished = report::integer(member(test, "requests"), "unfinished");
  if (unfinished > 0) {
    out += "\n";
    line(format_grouped(unfinished) + " still ran at the end and were stopped");
  }
  return out;
}

namespace {

constexpr const char* kStyle =
    ":root{color-scheme:light dark;--ink:#1c2024;--dim:#60646c;--line:#d9dce0;--bg:#fff;"
    "--s0:#0b66c3;--s1:#c2410c;--s2:#15803d;--s3:#7c3aed;--s4:#b45309;--s5:#be185d}"
    "@media(prefers-color-scheme:dark){:root{--ink:#edeef0;--dim:#a6a9ae;--line:#33373c;"
    "--bg:#111315;--s0:#6cb6ff;--s1:#ff9b6a;--s2:#6fdc8c;--s3:#b69cff;--s4:#f5c26b;--s5:#ff8ab8}}"
    "body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--bg);max-width:860px;"
    "margin:2rem auto;padding:0 1rem}h1{font-size:1.35rem}h2{font-size:1.05rem;margin:2rem 0 .4rem}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:right;padding:.25rem .6rem;"
    "border-bottom:1px solid var(--line);font-variant-numeric:tabular-nums}"
    "th:first-child,td:first-child{text-align:left}th,.dim{color:var(--dim);font-weight:400}"
    "svg{width:100%;height:auto}svg text{font-size:11px;fill:var(--dim)}.grid{stroke:var(--line)}"
    "path{fill:none;stroke-width:1.6}.dashed{stroke-dasharray:5 4}"
    ".s0{stroke:var(--s0)}.s1{stroke:var(--s1)}.s2{stroke:var(--s2)}.s3{stroke:var(--s3)}"
    ".s4{stroke:var(--s4)}.s5{stroke:var(--s5)}"
    ".key span{display:inline-block;margin-right:1.2rem}.key i{display:inline-block;width:1.4rem;"
    "height:0;border-top:3px solid;margin-right:.4rem;vertical-align:middle}"
    ".k0{color:var(--s0)}.k1{color:var(--s1)}.k2{color:var(--s2)}.k3{color:var(--s3)}"
    ".k4{color:var(--s4)}.k5{color:var(--s5)}"
    // A phone: figures stay in one piece, the pictures' letters keep a size that can be read.
    ".t td+td{white-space:nowrap}@media(max-width:600px){th,td{padding:.25rem .2rem;"
    "font-size:.8rem}svg text{font-size:18px}}";

ChartSeries over_time(const Value& test, const char* key, const char* name) {
  ChartSeries series{name, {}, false, false};
  for (const Value& moment : member(test, "timeline").as_array()) {
    if (const Value* value = moment.find(key)) {
      series.points.emplace_back(figure(moment, "seconds"), number(*value));
    }
  }
  return series;
}

std::string section(const Chart& chart) {
  bool any = false;
  std::string key;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    if (chart.series[i].points.empty()) continue;
    any = true;
    key += "<span><i class=\"k" + std::to_string(i % 6) + "\"></i>" +
           html_text(chart.series[i].name) + "</span>";
  }
  if (!any) return "";
  return "<h2>" + html_text(chart.title) + "</h2>\n<p class=\"key\">" + key + "</p>\n" +
         chart_svg(chart);
}

Chart memory_chart(const Value& test) {
  Chart chart{"Memory of the cards", " GiB", " s", {}, 0};
  const auto& cards = member(test, "memory").as_array();
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  const auto& timeline = member(test, "timeline").as_array();
  const double end = timeline.empty() ? 0 : figure(timeline.back(), "seconds");
  for (size_t i = 0; i < cards.size(); ++i) {
    ChartSeries series{
        "GPU " + std::to_string(report::integer(cards[i], "index")), {}, false, false};
    for (const Value& moment : timeline) {
      const auto& used = member(moment, "used_bytes").as_array();
      if (i < used.size()) {
        series.points.emplace_back(figure(moment, "seconds"), number(used[i]) / kGiB);
      }
    }
    chart.series.push_back(std::move(series));
  }
  // Cards are mostly of one kind: its total and plan once.
  if (!cards.empty()) {
    const auto level = [&](const char* key, const char* name) {
      if (cards.front().find(key) == nullptr) return;
      const double y = figure(cards.front(), key) / kGiB;
      chart.series.push_back({name, {{0, y}, {end, y}}, false, true});
    };
    level("planned_bytes", "planned");
    level("total_bytes", "total");
  }
  return chart;
}

std::string latency_table(const Value& test) {
  std::string out =
      "<table class=\"t\"><tr><th>" + html_text(text_of(test, "latency_of")) + "</th>";
  for (const char* q : kQuantiles) out += "<th>" + std::string(q) + "</th>";
  out += "</tr>\n";
  for (const Latency& row : kLatencies) {
    const Value& spread = member(test, row.key);
    if (spread.find("p50") == nullptr) continue;
    out += "<tr><td>" + std::string(row.name) + "</td>";
    for (const char* q : kQuantiles) out += "<td>" + seconds_text(spread, q) + "</td>";
    out += "</tr>\n";
  }
  for (const auto& [name, spread] : counted_latencies(test)) {
    out += "<tr><td>" + html_text(name) + "</td>";
    for (const char* q : kQuantiles) out += "<td>" + seconds_text(*spread, q) + "</td>";
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

std::string memory_table(const Value& test) {
  const auto& cards = member(test, "memory").as_array();
  if (cards.empty()) return "";
  std::string out =
      "<table><tr><th>card</th><th>before</th><th>peak</th><th>planned</th><th>total</th>"
      "<th>headroom</th><th>memory</th></tr>\n";
  for (const Value& card : cards) {
    out += "<tr><td>GPU " + std::to_string(report::integer(card, "index")) + " " +
           html_text(text_of(card, "name")) + "</td><td>" + gib(card, "start_used_bytes") +
           "</td><td>" + gib(card, "peak_used_bytes") + "</td><td>" +
           (card.find("planned_bytes") != nullptr ? gib(card, "planned_bytes") : "") + "</td><td>" +
           gib(card, "total_bytes") + "</td><td>" + gib(card, "headroom_bytes") + "</td><td>" +
           settled_text(card) + "</td></tr>\n";
  }
  return out + "</table><p class=\"dim\">Sizes in GiB.</p>\n";
}

std::string error_table(const Value& test) {
  const auto& kinds = member(member(test, "requests"), "by_kind").as_array();
  if (kinds.empty()) return "";
  std::string out =
      "<h2>Errors</h2>\n<table><tr><th>kind</th><th>times</th><th>example</th></tr>\n";
  for (const Value& kind : kinds) {
    out += "<tr><td>" + html_text(text_of(kind, "kind")) + "</td><td>" +
           format_grouped(report::integer(kind, "count")) + "</td><td>" +
           html_text(report::safe(text_of(kind, "example"))) + "</td></tr>\n";
  }
  return out + "</table>\n";
}

}  // namespace

std::string loadtest_html(const Value& document) {
  const Value& test = member(document, "loadtest");
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<title>Load test</title>\n<style>" +
      std::string(kStyle) + "</style></head>\n<body>\n<h1>" +
      html_text(report::safe(text_of(test, "answer"))) + "</h1>\n<p class=\"dim\">" +
      html_text(report::safe(text_of(test, "model"))) + " at " +
      html_text(report::safe(text_of(test, "server"))) + ", " +
      format_fixed(figure(member(test, "load"), "seconds"), 0) + " s</p>\n";
  for (const std::string& text :
       {lengths_text(test), throughput_text(test), engine_text(test), plan_text(test)}) {
    if (!text.empty()) out += "<p>" + html_text(report::safe(text)) + "</p>\n";
  }
  out += latency_table(test);
  out += section(memory_chart(test));
  out += memory_table(test);
  out += section({"Streams and requests",
                  "",
                  " s",
                  {over_time(test, "streams", "streams open"),
                   over_time(test, "running", "running in the engine"),
                   over_time(test, "waiting", "waiting in the engine")},
                  0});
  ChartSeries cache = over_time(test, "cache_use", "cache in use");
  for (auto& [x, y] : cache.points) y *= 100;
  out += section({"Cache", " %", " s", {std::move(cache)}, 100});
  out += section(
      {"Output", "", " s", {over_time(test, "tokens_per_second", "pieces of text a second")}, 0});
  out += error_table(test);
  return out + "</body></html>\n";
}

}  // namespace vramwise::cli
