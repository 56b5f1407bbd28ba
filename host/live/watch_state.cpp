#include "host/live/watch_state.h"

#include <algorithm>

#include "base/text.h"

namespace vramwise::host {
namespace {

constexpr double kWindowSeconds = 60;
constexpr size_t kKept = 1800;  // samples: an hour at two seconds

std::string size(Bytes bytes) { return format_bytes(bytes); }

Bytes least_free_of(const Card& card, const WatchLimits& limits) {
  return std::max(limits.least_free, card.total / 100);
}

std::string label(std::string_view text) {
  return replace_all(replace_all(replace_all(std::string(text), "\\", "\\\\"), "\"", "\\\""), "\n",
                     "\\n");
}

}  // namespace

std::string about_seconds(double seconds) {
  if (seconds < 90) return format_fixed(seconds, 0) + " s";
  if (seconds < 90 * 60) return format_fixed(seconds / 60, 0) + " min";
  return format_fixed(seconds / 3600, 1) + " h";
}

void WatchState::add(WatchSample sample) {
  samples_.push_back(std::move(sample));
  if (samples_.size() > kKept) samples_.pop_front();
}

std::vector<Point> WatchState::recent(const auto& value_of) const {
  std::vector<Point> points;
  for (const WatchSample& sample : samples_) {
    if (sample.seconds < last().seconds - limits_.trend_seconds) continue;
    const std::optional<double> value = value_of(sample);
    if (value) points.push_back({sample.seconds, *value});
  }
  return points;
}

std::optional<double> WatchState::rate(std::optional<double> EngineMetrics::* counter) const {
  // Over ten seconds or so: engines count in bursts.
  const WatchSample* first = nullptr;
  for (const WatchSample& sample : samples_) {
    if (sample.seconds < last().seconds - 10 && &sample != &samples_.back()) continue;
    if (sample.engine && (*sample.engine).*counter) {
      first = &sample;
      break;
    }
  }
  if (first == nullptr || !last().engine || !((*last().engine).*counter)) return std::nullopt;
  const double passed = last().seconds - first->seconds;
  const double grown = *((*last().engine).*counter) - *((*first->engine).*counter);
  // A counter that fell belongs to a server that was started again.
  if (passed <= 0 || grown < 0) return std::nullopt;
  return grown / passed;
}

std::optional<MetricsWindow> WatchState::window() const {
  if (!last().engine) return std::nullopt;
  for (const WatchSample& sample : samples_) {
    if (sample.seconds < last().seconds - kWindowSeconds || !sample.engine) continue;
    if (&sample == &samples_.back()) break;
    if (auto passed = window_between(*sample.engine, *last().engine)) return *std::move(passed);
  }
  return std::nullopt;
}

std::optional<Bytes> WatchState::planned(size_t card) const {
  if (!plan_ || card >= plan_->reserved.size()) return std::nullopt;
  return plan_->reserved[card];
}

void WatchState::card_alarms(std::vector<Alarm>& found) const {
  for (size_t i = 0; i < last().cards.size(); ++i) {
    const Card& card = last().cards[i];
    if (card.divided || card.total <= Bytes()) continue;
    const std::string name =
        "GPU " + std::to_string(card.index) + (card.slice.empty() ? "" : " (" + card.slice + ")");
    const Bytes least = least_free_of(card, limits_);
    if (card.free < least) {
      found.push_back(
          {"card_full",
           name + " has " + size(card.free) + " free: the next allocation outside the cache fails",
           true, 0.0});
    } else {
      const auto used = recent([&](const WatchSample& s) -> std::optional<double> {
        if (i >= s.cards.size()) return std::nullopt;
        return double(s.cards[i].used.count());
      });
      const Trend trend = fit_trend(used);
      const auto until =
          seconds_until(trend, double((card.total - least).count()), limits_.horizon_seconds);
      if (until) {
        found.push_back({"card_filling",
                         name + " is full in about " + about_seconds(*until) + ": it takes " +
                             size(Bytes(int64_t(trend.slope * 60))) + " more a minute",
                         false, until});
      }
    }
    if (const auto plan = planned(i)) {
      // Two percent of the card: context, fragmentation, what came with a driver.
      const Bytes over = card.used - *plan;
      if (over > std::max(card.total / 50, MiB(256))) {
        found.push_back({"over_plan",
                         name + " holds " + size(over) + " more than the plan's " + size(*plan) +
                             ": another process, or a run that differs from the plan",
                         false, std::nullopt});
      }
    }
  }
}

void WatchState::engine_alarms(std::vector<Alarm>& found) const {
  if (!last().engine_fault.empty()) {
    found.push_back({"no_metrics", last().engine_fault, true, std::nullopt});
    return;
  }
  if (!last().engine) return;
  const EngineMetrics& engine = *last().engine;
  if (engine.cache_use && *engine.cache_use >= limits_.most_cache) {
    found.push_back({"cache_full",
                     "the cache is " + format_fixed(*engine.cache_use * 100, 0) +
                         " % full: new requests wait, running ones may be put back",
                     true, 0.0});
  } else if (engine.cache_use) {
    const Trend trend = fit_trend(recent([](const WatchSample& s) -> std::optional<double> {
      return s.engine ? s.engine->cache_use : std::nullopt;
    }));
    if (const auto until = seconds_until(trend, limits_.most_cache, limits_.horizon_seconds)) {
      found.push_back(
          {"cache_filling", "the cache is full in about " + about_seconds(*until), false, until});
    }
  }
  // Growth of the counter within the last minute.
  double grown = 0;
  std::optional<double> before;
  double first_waiting = last().seconds;
  bool still = true;
  for (const WatchSample& sample : samples_) {
    if (!sample.engine) continue;
    if (sample.seconds >= last().seconds - 60 && before && sample.engine->preemptions) {
      grown += std::max(0.0, *sample.engine->preemptions - *before);
    }
    before = sample.engine->preemptions;
  }
  if (grown > 0) {
    found.push_back({"preempting",
                     format_fixed(grown, 0) + (grown == 1 ? " request was" : " requests were") +
                         " put back in the last minute, to be computed again: the cache is too "
                         "small for this load",
                     true, std::nullopt});
  }
  for (auto it = samples_.rbegin(); it != samples_.rend() && still; ++it) {
    still = it->engine && it->engine->waiting && *it->engine->waiting > 0;
    if (still) first_waiting = it->seconds;
  }
  if (last().seconds - first_waiting >= limits_.waiting_seconds) {
    found.push_back({"waiting",
                     format_fixed(*engine.waiting, 0) + " requests wait, and some have for " +
                         about_seconds(last().seconds - first_waiting),
                     false, std::nullopt});
  }
  if (!plan_) return;
  if (plan_->pool_tokens && engine.cache_tokens &&
      double(*engine.cache_tokens) < 0.98 * double(*plan_->pool_tokens)) {
    found.push_back({"cache_below_plan",
                     "the server's cache holds " + format_grouped(*engine.cache_tokens) +
                         " tokens, the plan said " + format_grouped(*plan_->pool_tokens),
                     false, std::nullopt});
  }
  if (plan_->users && engine.running && *engine.running > double(*plan_->users)) {
    found.push_back({"users_over_plan",
                     format_fixed(*engine.running, 0) + " requests run, the plan is for " +
                         format_grouped(*plan_->users) + " of the full length",
                     false, std::nullopt});
  }
}

std::vector<Alarm> WatchState::alarms() const {
  std::vector<Alarm> found;
  card_alarms(found);
  engine_alarms(found);
  std::stable_sort(found.begin(), found.end(),
                   [](const Alarm& a, const Alarm& b) { return a.urgent && !b.urgent; });
  return found;
}

json::Value WatchState::document() const {
  using json::Value;
  Value out = Value::object();
  out.set("schema_version", 1);
  Value& watch = out.set("watch", Value::object());
  watch.set("unix_time", last().unix_time);
  watch.set("elapsed_seconds", last().seconds);
  Value& cards = watch.set("cards", Value::array());
  for (size_t i = 0; i < last().cards.size(); ++i) {
    const Card& card = last().cards[i];
    Value& entry = cards.push(Value::object());
    entry.set("index", card.index);
    entry.set("name", card.name);
    if (!card.slice.empty()) entry.set("slice", card.slice);
    entry.set("total_bytes", card.total);
    entry.set("used_bytes", card.used);
    entry.set("free_bytes", card.free);
    if (card.busy_percent) entry.set("busy_percent", *card.busy_percent);
    if (const auto plan = planned(i)) entry.set("planned_bytes", *plan);
  }
  if (last().engine) {
    Value& engine = watch.set("engine", to_json(*last().engine));
    if (const auto r = rate(&EngineMetrics::output_tokens)) {
      engine.set("output_tokens_per_second", *r);
    }
    if (const auto r = rate(&EngineMetrics::prompt_tokens)) {
      engine.set("prompt_tokens_per_second", *r);
    }
    if (const auto passed = window()) engine.set("last_minute", to_json(*passed));
  }
  if (!last().engine_fault.empty()) watch.set("engine_fault", last().engine_fault);
  Value& alarms_out = watch.set("alarms", Value::array());
  for (const Alarm& alarm : alarms()) {
    Value& entry = alarms_out.push(Value::object());
    entry.set("id", alarm.id);
    entry.set("urgent", alarm.urgent);
    entry.set("text", alarm.text);
    if (alarm.seconds) entry.set("in_seconds", *alarm.seconds);
  }
  return out;
}

std::string WatchState::exposition() const {
  std::string out;
  const auto family = [&](const char* name, const char* type, const char* help) {
    out += "# HELP " + std::string(name) + " " + help + "\n# TYPE " + name + " " + type + "\n";
  };
  const auto per_card = [&](const char* name, const char* help, const auto& value_of) {
    family(name, "gauge", help);
    for (size_t i = 0; i < last().cards.size(); ++i) {
      const Card& card = last().cards[i];
      const std::optional<int64_t> value = value_of(i, card);
      if (!value) continue;
      out += std::string(name) + "{gpu=\"" + std::to_string(card.index) + "\",name=\"" +
             label(card.name) + "\"" + (card.id.empty() ? "" : ",id=\"" + label(card.id) + "\"") +
             "} " + format_integer(*value) + "\n";
    }
  };
  using Value = std::optional<int64_t>;
  per_card("vramwise_gpu_memory_total_bytes", "What a process can have of the card.",
           [](size_t, const Card& c) -> Value { return c.total.count(); });
  per_card("vramwise_gpu_memory_used_bytes", "Taken by all processes.",
           [](size_t, const Card& c) -> Value { return c.used.count(); });
  per_card("vramwise_gpu_memory_free_bytes", "Free.",
           [](size_t, const Card& c) -> Value { return c.free.count(); });
  if (plan_) {
    per_card("vramwise_gpu_memory_planned_bytes", "What the plan lets the engine take.",
             [&](size_t i, const Card&) -> Value {
               const auto plan = planned(i);
               return plan ? Value(plan->count()) : Value();
             });
  }
  const auto figure = [&](const char* name, const char* type, const char* help,
                          const std::optional<double>& value) {
    if (!value) return;
    family(name, type, help);
    out += std::string(name) + " " + format_number(*value) + "\n";
  };
  if (last().engine) {
    const EngineMetrics& engine = *last().engine;
    figure("vramwise_engine_requests_running", "gauge", "Requests being served.", engine.running);
    figure("vramwise_engine_requests_waiting", "gauge", "Requests in the queue.", engine.waiting);
    figure("vramwise_engine_cache_use_ratio", "gauge", "Share of the KV cache in use.",
           engine.cache_use);
    figure("vramwise_engine_preemptions_total", "counter", "Requests put back so far.",
           engine.preemptions);
  }
  if (!address_.empty()) {
    figure("vramwise_engine_up", "gauge", "Whether the engine's metrics could be read.",
           last().engine ? 1.0 : 0.0);
  }
  family("vramwise_alarm", "gauge", "1 for what is wrong now (urgent) or soon.");
  for (const Alarm& alarm : alarms()) {
    out += "vramwise_alarm{id=\"" + label(alarm.id) + "\",urgent=\"" +
           (alarm.urgent ? "true" : "false") + "\"} 1\n";
  }
  return out;
}

}  // namespace vramwise::host
