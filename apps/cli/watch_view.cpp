#include "apps/cli/watch_view.h"

#include <algorithm>

#include "base/text.h"

namespace vramwise::cli {
namespace {

using host::Alarm;
using host::Card;
using host::EngineMetrics;
using host::WatchSample;
using host::WatchState;
using report::Ink;
using report::paint;
using report::Style;

constexpr int kLabel = 9;  // columns of the names on the left

std::string clock_text(double seconds) {
  const auto two = [](int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  const int64_t all = int64_t(seconds);
  return two(all / 3600) + ":" + two(all / 60 % 60) + ":" + two(all % 60);
}

std::vector<double> series(const WatchState& state, const auto& value_of) {
  std::vector<double> values;
  for (const WatchSample& sample : state.samples()) {
    const std::optional<double> value = value_of(sample);
    if (value) values.push_back(*value);
  }
  return values;
}

std::vector<double> engine_series(const WatchState& state,
                                  std::optional<double> EngineMetrics::* figure) {
  return series(state, [&](const WatchSample& s) -> std::optional<double> {
    return s.engine ? (*s.engine).*figure : std::nullopt;
  });
}

double top_of(const std::vector<double>& values, double least) {
  double top = least;
  for (const double value : values) top = std::max(top, value);
  return top;
}

std::string count_text(double value) { return format_grouped(int64_t(value + 0.5)); }

// "72.10 of 79.19 GiB"
std::string used_text(const Card& card) {
  return format_gib(card.used) + " of " + format_gib(card.total) + " GiB";
}

// "first token 120 ms, 190 ms at p95; between tokens 12.1 ms", of the last minute.
std::string latency_text(const host::MetricsWindow& passed) {
  const auto time = [](double seconds) {
    return seconds < 1 ? format_fixed(seconds * 1000, seconds < 0.1 ? 1 : 0) + " ms"
                       : format_fixed(seconds, 2) + " s";
  };
  std::string text;
  if (passed.first_token && passed.first_token->count > 0) {
    text = "first token " + time(passed.first_token->mean());
    if (const auto p95 = passed.first_token->quantile(0.95)) text += ", p95 " + time(*p95);
  }
  if (passed.inter_token && passed.inter_token->count > 0) {
    text += (text.empty() ? "" : "; ") + std::string("between tokens ") +
            time(passed.inter_token->mean());
  }
  return text;
}

std::string name_of(const Card& card) {
  return "GPU " + std::to_string(card.index) + (card.slice.empty() ? "" : " " + card.slice);
}

}  // namespace

std::string sparkline(const std::vector<double>& values, double top, int columns,
                      const Style& style) {
  static const char* const kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static const char kPlain[] = " .:-=+*#@";
  std::string out;
  const size_t from = values.size() > size_t(columns) ? values.size() - size_t(columns) : 0;
  for (size_t i = from; i < values.size(); ++i) {
    const double share = top > 0 ? std::clamp(values[i] / top, 0.0, 1.0) : 0;
    // Anything above nothing is seen.
    const int step = std::clamp(int(share * 8 + 0.5), values[i] > 0 ? 1 : 0, 8);
    out += style.unicode ? std::string(kBlocks[step]) : std::string(1, kPlain[step]);
  }
  return out;
}

std::vector<std::string> watch_view(const WatchState& state, const Style& style) {
  const int width = style.width > 0 ? style.width : 80;
  const int spark = std::clamp(width - 52, 8, 60);
  std::vector<std::string> lines;
  const auto row = [&](const std::string& label, const std::string& text, const std::string& chart,
                       const std::string& rest) {
    // The figures always; the chart and what is beside it as far as they fit.
    std::string line = report::pad_right(label, kLabel) + report::pad_right(text, 22);
    int left = width - report::display_width(line);
    if (!chart.empty() && left > 2 + report::display_width(chart)) {
      line += "  " + paint(style, Ink::cyan, chart);
      left -= 2 + report::display_width(chart);
    }
    if (!rest.empty() && left > 2 + report::display_width(rest)) {
      line += "  " + paint(style, Ink::dim, rest);
    }
    lines.push_back(line);
  };

  const WatchSample& last = state.last();
  std::string title = last.engine ? last.engine->engine : "watch";
  if (!state.address().empty()) title += " at " + report::safe(state.address());
  title = report::elide_middle(title, std::max(10, width - 10), style);
  lines.push_back(paint(style, Ink::bold, title) + "  " +
                  paint(style, Ink::dim, clock_text(last.seconds)));

  if (last.cards.empty()) lines.push_back("no GPU found here: vramwise doctor says why");
  for (size_t i = 0; i < last.cards.size(); ++i) {
    const Card& card = last.cards[i];
    if (card.divided) continue;
    const auto used = series(state, [&](const WatchSample& s) -> std::optional<double> {
      return i < s.cards.size() ? std::optional<double>(double(s.cards[i].used.count()))
                                : std::nullopt;
    });
    const auto plan = state.planned(i);
    row(name_of(card), used_text(card), sparkline(used, double(card.total.count()), spark, style),
        plan ? "planned " + format_gib(*plan) : format_gib(card.free) + " free");
  }
  if (last.engine) {
    const EngineMetrics& engine = *last.engine;
    if (engine.cache_use) {
      row("cache", format_fixed(*engine.cache_use * 100, 1) + " %",
          sparkline(engine_series(state, &EngineMetrics::cache_use), 1, spark, style),
          engine.cache_tokens ? "of " + format_grouped(*engine.cache_tokens) + " tokens" : "");
    }
    const auto running = engine_series(state, &EngineMetrics::running);
    row("running", count_text(engine.running.value_or(0)),
        sparkline(running, top_of(running, 1), spark, style),
        state.plan() && state.plan()->users ? "planned " + format_grouped(*state.plan()->users)
                                            : "most " + count_text(top_of(running, 0)));
    if (engine.waiting) {
      const auto waiting = engine_series(state, &EngineMetrics::waiting);
      row("waiting", count_text(*engine.waiting),
          sparkline(waiting, top_of(waiting, 1), spark, style),
          engine.preemptions ? count_text(*engine.preemptions) + " preempted" : "");
    }
    const auto output = state.rate(&EngineMetrics::output_tokens);
    const auto prompt = state.rate(&EngineMetrics::prompt_tokens);
    if (output || prompt) {
      row("tokens/s",
          (output ? count_text(*output) + " out" : "") + (output && prompt ? ", " : "") +
              (prompt ? count_text(*prompt) + " in" : ""),
          "", "");
    }
    if (const auto passed = state.window()) {
      const std::string latency = latency_text(*passed);
      if (!latency.empty()) row("latency", latency, "", "");
      if (passed->hit_share) {
        row("found",
            format_fixed(*passed->hit_share * 100, 0) + " % of the prompts in the prefix cache", "",
            "");
      }
    }
  }
  for (const Alarm& alarm : state.alarms()) {
    const std::string mark = alarm.urgent ? "! " : "- ";
    const std::string text = report::wrap(report::safe(alarm.text), width, 2, 2);
    size_t from = 0;
    std::string first = mark;
    while (from <= text.size()) {
      const size_t end = std::min(text.find('\n', from), text.size());
      lines.push_back(paint(style, alarm.urgent ? Ink::red : Ink::yellow,
                            first + text.substr(from, end - from)));
      first.clear();
      from = end + 1;
    }
  }
  return lines;
}

std::string watch_line(const WatchState& state, const Style& style) {
  const WatchSample& last = state.last();
  std::string line = clock_text(last.seconds);
  for (const Card& card : last.cards) {
    if (!card.divided) line += "  " + name_of(card) + " " + used_text(card);
  }
  if (last.engine) {
    const EngineMetrics& engine = *last.engine;
    if (engine.cache_use) line += "  cache " + format_fixed(*engine.cache_use * 100, 1) + " %";
    line += "  running " + count_text(engine.running.value_or(0));
    if (engine.waiting) line += "  waiting " + count_text(*engine.waiting);
    if (engine.preemptions) line += "  preempted " + count_text(*engine.preemptions);
  }
  // One line a look; where a width was asked for, alarms go on below it.
  std::string below;
  for (const Alarm& alarm : state.alarms()) {
    const std::string text = (alarm.urgent ? "! " : "- ") + report::safe(alarm.text);
    if (style.width > 0 && line.size() + text.size() + 2 > size_t(style.width)) {
      below += "\n          " + report::wrap(text, style.width, 12, 10);
    } else {
      line += "  " + text;
    }
  }
  return line + below;
}

}  // namespace vramwise::cli
