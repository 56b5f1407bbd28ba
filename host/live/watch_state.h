// What `watch` knows: the last samples of cards and engine, the plan beside them, and what follows.
// Pure: samples come in, alarms and documents go out.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "host/live/engine_metrics.h"
#include "host/live/metrics_window.h"
#include "host/live/plan_view.h"
#include "host/live/trend.h"
#include "host/machine/machine.h"
#include "json/value.h"

namespace vramwise::host {

struct WatchSample {
  double seconds = 0;     // since the start
  int64_t unix_time = 0;  // seconds since 1970
  std::vector<Card> cards;
  std::optional<EngineMetrics> engine;
  std::string engine_fault;  // why there is no engine; empty when none was asked for
};

struct Alarm {
  std::string id;  // stable: "cache_full"
  std::string text;
  bool urgent = false;            // it has happened; else it is coming
  std::optional<double> seconds;  // until it happens
};

struct WatchLimits {
  Bytes least_free = MiB(256);    // of a card, or 1 % of it where that is more
  double most_cache = 0.95;       // share of the cache
  double trend_seconds = 120;     // what a forecast looks back on
  double horizon_seconds = 3600;  // what it looks ahead
  double waiting_seconds = 30;    // a queue that long in a row is told
};

class WatchState {
 public:
  WatchState(std::string address, std::optional<PlanView> plan, WatchLimits limits = {})
      : address_(std::move(address)), plan_(std::move(plan)), limits_(limits) {}

  void add(WatchSample sample);
  const std::deque<WatchSample>& samples() const { return samples_; }
  const WatchSample& last() const { return samples_.back(); }
  const std::optional<PlanView>& plan() const { return plan_; }
  const std::string& address() const { return address_; }

  // Urgent ones first. There must be a sample.
  std::vector<Alarm> alarms() const;
  // Tokens a second over the last samples; absent without counters.
  std::optional<double> rate(std::optional<double> EngineMetrics::* counter) const;
  // What the server did over the last minute or so; absent after one look or a restart.
  std::optional<MetricsWindow> window() const;
  // Planned bytes of the card at that place in the list; absent without a plan for it.
  std::optional<Bytes> planned(size_t card) const;
  // One sample as JSON, with alarms.
  json::Value document() const;
  // The same for Prometheus.
  std::string exposition() const;

 private:
  std::vector<Point> recent(const auto& value_of) const;
  void card_alarms(std::vector<Alarm>& found) const;
  void engine_alarms(std::vector<Alarm>& found) const;

  std::string address_;
  std::optional<PlanView> plan_;
  WatchLimits limits_;
  std::deque<WatchSample> samples_;
};

// "45 s", "12 min", "3 h".
std::string about_seconds(double seconds);

}  // namespace vramwise::host
