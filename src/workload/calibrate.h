// A step time from the user's own server instead of the catalog: two measured points give the fixed
// cost, the cost of a prompt token and of a decoding sequence.
//
//   {"inter_token_seconds":0.0121,"ttft_seconds":0.062,        one user alone
//    "users":8,"output_tokens_per_second":540,                 and a few together
//    "prompt":512,"output":256}                                of requests of this size
//
// Measured error: docs/accuracy.md, "Workloads": up to four times the calibrated users, 15 % (p90).
#pragma once

#include "base/result.h"
#include "json/reader.h"
#include "workload/question.h"

namespace vramwise::workload {

// Replaces question.step. Errors: missing_field, inconsistent where the points contradict each
// other.
Result<bool> calibrate(const json::Reader& measured, Question& question);

}  // namespace vramwise::workload
