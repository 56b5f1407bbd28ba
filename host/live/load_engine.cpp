#include "host/live/load_engine.h"

#include <algorithm>
#include <vector>

#include "host/live/metrics_window.h"
#include "workload/occupancy.h"

namespace vramwise::host {
namespace {

using json::Value;

double rounded(double number) { return double(int64_t(number * 1e6 + 0.5)) / 1e6; }

// Moments of the full load at which the engine answered.
std::vector<const LoadMoment*> full_load(const LoadResult& result) {
  std::vector<const LoadMoment*> found;
  for (const LoadMoment& moment : result.moments) {
    if (!moment.engine || moment.seconds < result.hold_start) continue;
    if (moment.seconds <= result.hold_end + 0.5) found.push_back(&moment);
  }
  return found;
}

// Share of the cache that these requests hold together at quantile p, by their lengths alone and
// without shared text (workload/occupancy.h). 0: not known.
double expected_use(const LoadResult& result, const EngineMetrics& engine, double streams,
                    double p) {
  std::vector<workload::Pair> sample;
  for (const LoadRecord& record : result.records) {
    const int64_t prompt = record.prompt_tokens > 0 ? record.prompt_tokens : record.asked_prompt;
    if (!record.error.empty() || prompt < 1 || record.output_tokens < 1) continue;
    sample.push_back({int32_t(std::min<int64_t>(prompt, 1 << 24)),
                      int32_t(std::min<int64_t>(record.output_tokens, 1 << 24))});
  }
  if (sample.empty() || !engine.cache_tokens || streams < 0.5) return 0;
  workload::Held one = workload::held_by_one(sample);
  // A block is half empty on average.
  if (engine.block_tokens) one.mean += double(*engine.block_tokens - 1) / 2;
  const int64_t users = int64_t(streams + 0.5);
  const double held = p == 0.5 ? one.mean * streams : workload::held_by(one, users, p);
  return std::min(1.0, held / double(*engine.cache_tokens));
}

void report_cache(const LoadResult& result, const std::vector<const LoadMoment*>& full,
                  Value& block) {
  std::vector<double> use;
  double streams = 0;
  double waiting = 0;
  for (const LoadMoment* moment : full) {
    streams += double(moment->streams);
    waiting += moment->engine->waiting.value_or(0);
    if (moment->engine->cache_use) use.push_back(*moment->engine->cache_use);
  }
  if (use.empty()) return;
  double sum = 0;
  for (const double share : use) sum += share;
  std::sort(use.begin(), use.end());
  block.set("mean_cache_use", rounded(sum / double(use.size())));
  block.set("p99_cache_use", rounded(use[std::min(use.size() - 1, use.size() * 99 / 100)]));
  // What waits holds nothing.
  const double holding = std::max(0.0, streams - waiting) / double(full.size());
  const EngineMetrics& engine = *full.back()->engine;
  const double mean = expected_use(result, engine, holding, 0.5);
  if (mean <= 0) return;
  block.set("expected_cache_use", rounded(mean));
  block.set("expected_p99_cache_use", rounded(expected_use(result, engine, holding, 0.99)));
}

}  // namespace

Value load_engine(const LoadResult& result) {
  double running = 0;
  double waiting = 0;
  std::optional<double> cache;
  std::optional<double> first_preemptions;
  std::optional<double> last_preemptions;
  std::optional<int64_t> tokens;
  std::string name = result.engine;
  bool any = false;
  for (const LoadMoment& moment : result.moments) {
    if (!moment.engine) continue;
    const EngineMetrics& engine = *moment.engine;
    any = true;
    name = engine.engine;
    running = std::max(running, engine.running.value_or(0));
    waiting = std::max(waiting, engine.waiting.value_or(0));
    if (engine.cache_use) cache = std::max(cache.value_or(0), *engine.cache_use);
    if (engine.preemptions && !first_preemptions) first_preemptions = engine.preemptions;
    if (engine.preemptions) last_preemptions = engine.preemptions;
    if (engine.cache_tokens) tokens = engine.cache_tokens;
  }
  Value block = Value::object();
  if (!name.empty()) block.set("name", name);
  if (!any) {
    if (!result.metrics_fault.empty()) block.set("metrics_fault", result.metrics_fault);
    return block;
  }
  block.set("most_running", running);
  block.set("most_waiting", waiting);
  if (cache) block.set("most_cache_use", *cache);
  if (tokens) block.set("cache_tokens", *tokens);
  if (first_preemptions) {
    block.set("preemptions", std::max(0.0, *last_preemptions - *first_preemptions));
  }
  const auto full = full_load(result);
  if (full.size() < 2) return block;
  report_cache(result, full, block);
  // A server that was started again during the test has no counts of it.
  if (const auto window = window_between(*full.front()->engine, *full.back()->engine)) {
    Value counted = to_json(*window);
    counted.set("seconds", rounded(full.back()->seconds - full.front()->seconds));
    block.set("counted", std::move(counted));
  }
  return block;
}

}  // namespace vramwise::host
