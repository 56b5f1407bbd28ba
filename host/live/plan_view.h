// What a plan promises, as far as a running server can be held to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "json/value.h"

namespace vramwise::host {

struct PlanView {
  std::string model;
  std::string engine;
  std::vector<Bytes> reserved;  // by device, what the engine takes
  std::vector<Bytes> free;      // by device, what stays
  std::optional<int64_t> pool_tokens;
  std::optional<int64_t> users;
  int64_t sequence_tokens = 0;  // of the workload; 0: not given
  int64_t concurrency = 0;
};

// Reads an answer to `plan`. Errors: the answer's own, invalid_input when it is none.
Result<PlanView> view_plan(const json::Value& answer);

// A file that holds a plan: the answer of `plan --json`, a saved plan with its "answer", or a
// request, which is planned anew.
Result<PlanView> read_plan_file(const std::string& path);

}  // namespace vramwise::host
