// What a load adds to the other questions: a plan's users and first lever, the most that keeps a
// promise, and GPUs by what a million tokens cost.
#pragma once

#include "api/api.h"
#include "base/result.h"
#include "json/reader.h"
#include "json/value.h"
#include "plan/choices.h"
#include "plan/plan.h"

namespace vramwise::api {

// The request's workload has lengths or a trace.
bool has_load(const json::Reader& request);

// Puts the maximum length that the 99th percentile justifies in front of the levers, and answers
// the additions to the "workload" block.
Result<json::Value> add_load(const json::Reader& request, plan::Plan& plan);

// of: "rate" or "users". Ended by the observer, the answer is the most that is known to work.
Result<json::Value> max_of_load(const json::Reader& request, std::string_view of,
                                const Observer& observer);

struct ChoiceCost {
  double rate = 0;             // requests a second within the promise
  double usd_per_million = 0;  // answer tokens; 0: not known
  bool screening = false;      // by formula, not simulated
  bool validated = false;
};
struct ChoiceCosts {
  std::vector<ChoiceCost> costs;  // one of each choice, in their order
  bool stopped = false;           // by the observer: the rest is screened by formula alone
};
Result<ChoiceCosts> cost_choices(const json::Reader& request, const plan::Resolved& resolved,
                                 const std::vector<plan::GpuChoice>& choices,
                                 const Observer& observer);

}  // namespace vramwise::api
