// A load test: users that come one by one up to the wanted number, each asking again when answered,
// for a bounded time; what the streams, the engine and the cards did meanwhile.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/live/card_sampler.h"
#include "host/live/engine_metrics.h"
#include "host/live/load_request.h"
#include "host/live/load_stream.h"
#include "workload/histogram.h"

namespace vramwise::host {

struct LoadLengths {
  int64_t prompt = 0;
  int64_t output = 0;
};

struct LoadOptions {
  LoadTarget target;
  std::string metrics_url;  // empty: the engine is not asked
  int64_t users = 1;
  double ramp_seconds = 10;
  double hold_seconds = 60;
  double drain_seconds = 30;  // for what is running at the end
  int64_t most_requests = 1'000'000;
  double request_seconds = 300;
  double stall_seconds = 30;
  bool watch_cards = false;     // the server is on this machine
  Bytes least_free = MiB(128);  // of a card: below it the test stops
  uint64_t seed = 1;
  std::function<LoadLengths()> lengths;
};

// Once a second.
struct LoadMoment {
  double seconds = 0;
  int64_t streams = 0;  // open
  int64_t tokens = 0;   // received so far
  int64_t done = 0;     // requests so far
  int64_t errors = 0;
  std::optional<EngineMetrics> engine;
};

enum class LoadStop { time, requests, interrupted, errors, memory };
std::string_view to_string(LoadStop stop);

struct LoadResult {
  LoadOptions options;
  TokenScale scale;
  std::string engine;  // as /v1/models or /metrics say; empty: unknown
  LoadStop stop = LoadStop::time;
  double seconds = 0;     // from the first request to the last answer
  double hold_start = 0;  // all users are there
  double hold_end = 0;
  std::vector<LoadRecord> records;  // in order of their end
  int64_t unfinished = 0;           // stopped by us at the end; no errors
  workload::LogHistogram gaps;      // seconds between tokens
  std::vector<LoadMoment> moments;
  std::vector<CardSample> cards;
  std::string metrics_fault;  // why the engine said nothing
};

// Asks /v1/models where no model is named, then two short requests to learn how the server counts
// tokens. Errors: invalid_input when the server does not answer as such a server does.
Result<void> prepare_load(LoadOptions& options, TokenScale& scale, std::string& engine);

// `progress` is told every second. Errors: unsupported without libcurl.
Result<LoadResult> run_load(const LoadOptions& options, const TokenScale& scale,
                            const std::function<void(const LoadMoment&)>& progress);

}  // namespace vramwise::host
