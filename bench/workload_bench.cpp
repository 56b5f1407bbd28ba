// Simulated requests a second on one core: the event-jumping engine with all its histograms,
// lengths of three public traces, a Llama-3.1-8B on one H100 (28,394 blocks of 16 tokens).
//
// Regimes: Poisson arrivals with room, 64 users in a closed loop, and 1,000 users on a full pool
// with evictions. A request is drawn, queued, run and measured; items are requests.
#include <benchmark/benchmark.h>

#include <fstream>
#include <sstream>

#include "workload/jump_engine.h"
#include "workload/lengths.h"
#include "workload/load.h"
#include "workload/trace.h"

namespace {

using namespace vramwise;
using namespace vramwise::workload;

struct Loaded {
  Trace trace;
  Lengths lengths;
};

bool load(const std::string& name, Loaded& out) {
  std::ifstream in(std::string(VRAMWISE_SOURCE_DIR) + "/tests/measured/traces/" + name + ".csv");
  std::ostringstream text;
  text << in.rdbuf();
  auto trace = read_trace(text.str(), name);
  if (!trace) return false;
  out.trace = std::move(*trace);
  json::Value request = json::Value::object();
  request.set("kind", "trace");
  Notes notes;
  auto lengths = Lengths::read(json::Reader(request, name), &out.trace, notes);
  if (!lengths) return false;
  out.lengths = std::move(*lengths);
  return true;
}

void simulate(benchmark::State& state, const char* trace, double rate, int64_t users) {
  Loaded loaded;
  if (!load(trace, loaded)) {
    state.SkipWithError("the trace is missing");
    return;
  }
  Scheduler scheduler;
  scheduler.blocks = 28394;
  scheduler.max_sequences = 1024;
  StepTime time;
  time.fixed = 7.5e-3;
  time.per_decode = 1e-5;
  time.per_context_token = 52e-9;
  time.per_prefill_token = 32e-6;
  Arrivals arrivals;
  arrivals.rate = rate;
  if (users > 0) {
    arrivals.kind = Arrivals::Kind::closed;
    arrivals.users = users;
  }
  constexpr int64_t kRequests = 500000;
  int64_t preemptions = 0;
  for (auto _ : state) {
    LoadSource source(loaded.lengths, arrivals, nullptr, kRequests, 1, 0);
    Meter meter(scheduler.blocks, scheduler.max_sequences, kRequests / 10, 1000, {});
    const auto totals = run_jumping(scheduler, time, source, &meter, nullptr);
    if (!totals) {
      state.SkipWithError("the run failed");
      return;
    }
    preemptions = totals->preemptions;
    benchmark::DoNotOptimize(meter.occupancy().quantile(0.99));
  }
  state.SetItemsProcessed(state.iterations() * kRequests);
  state.counters["preemptions"] = double(preemptions);
}

// Rates at 70 % of what saturates the server with these lengths and this step.
BENCHMARK_CAPTURE(simulate, azure_conversation_poisson, "azure_conversation", 14.0, 0)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, azure_code_poisson, "azure_code", 10.0, 0)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, mooncake_conversation_poisson, "mooncake_conversation", 1.2, 0)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, azure_conversation_64_users, "azure_conversation", 0.0, 64)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, azure_code_64_users, "azure_code", 0.0, 64)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, mooncake_conversation_64_users, "mooncake_conversation", 0.0, 64)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, azure_conversation_pool_full, "azure_conversation", 0.0, 1000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, azure_code_pool_full, "azure_code", 0.0, 1000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, mooncake_conversation_pool_full, "mooncake_conversation", 0.0, 1000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
