// What the engine said of itself during a load test: the most it ran, its cache beside what these
// lengths hold, and its own counts and latencies over the full load.
#pragma once

#include "host/live/load_run.h"
#include "json/value.h"

namespace vramwise::host {

// The report's member "engine"; docs/live.md lists what is in it.
json::Value load_engine(const LoadResult& result);

}  // namespace vramwise::host
