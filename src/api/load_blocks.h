// Parts of an answer about a load that several questions share.
#pragma once

#include <optional>

#include "api/api.h"
#include "json/value.h"
#include "plan/prices.h"
#include "workload/question.h"

namespace vramwise::api {

// Whoever watches, as the engines ask them.
workload::Limits limits_of(const Observer& observer);
// Before the sentence of an answer that was ended early.
inline constexpr std::string_view kStopped = "Stopped early, so far: ";

// What requests look like, and the maximum length that their 99th percentile justifies.
json::Value lengths_block(const workload::Lengths& lengths, int64_t block_tokens);
// Users by the quantile of occupancy that they may reach, beside the worst case.
json::Value users_block(const workload::Question& question);
json::Value step_block(const workload::Question& question);

// " on 3 servers of 2 x h100-sxm"; empty where no machine is planned.
std::string place_text(const workload::Question& question);

struct HourlyPrice {
  double likely = 0, low = 0, high = 0;  // USD
  std::string offer, date;
};
std::optional<HourlyPrice> hourly_price(const workload::Question& question);
// USD per million tokens at these rates of served requests: likely, and the ends of the bar.
json::Value cost_block(const workload::Question& question, const HourlyPrice& price, double rate,
                       double low_rate, double high_rate);

// The highest rate within the promise: likely, and at the slow and the quick end of the step time.
struct RateBar {
  workload::Goodput likely;
  double low = 0, high = 0;
  bool stopped = false;  // by the observer: an end that was not found is the likely rate
};
Result<RateBar> rate_bar(const workload::Question& question, const workload::Limits& limits);
// The same for the likely step time alone (searches over cards).
Result<workload::Goodput> likely_rate(const workload::Question& question,
                                      const workload::Limits& limits);

// Arrivals of that rate in the shape that the question asks for.
workload::Arrivals arrivals_at(const workload::Question& question, double rate);
// "prefill compute", "decode bandwidth", "kv_cache", "max_sequences": what a higher rate runs into;
// "nothing yet" at a rate that the server takes with ease.
std::string limiting(const workload::Question& question, const workload::Run& run);

}  // namespace vramwise::api
