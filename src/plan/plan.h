// One question answered: budget, verdict, capacity, and what would help.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "plan/resolve.h"
#include "plan/verdict.h"

namespace vramwise::plan {

// A change (or several together) that was planned again.
struct Lever {
  std::vector<std::string> ids;
  std::string change;  // "store the cache in fp8 and cap requests at 32,768 tokens"
  std::string option;  // "--kv-cache-dtype fp8 --max-model-len 32768"
  std::string cost;    // side effect
  int order = 0;
  Bytes freed;  // likely need on the fullest device, before minus after (negative: grows)
  Verdict after;
  int64_t users = -1;  // after the change
  bool combined = false;
  std::optional<engines::LogCheck> check;  // what the log says once it is done
  json::Value set;  // the request's members to replace (a JSON merge patch, RFC 7396)
};

// Cards that hold a question as it is.
struct Cards {
  std::string gpu;
  int count = 1;
  engines::Layout layout;
};

struct Plan {
  Resolved resolved;
  engines::Assessment assessment;
  Verdict verdict;
  std::vector<Lever> levers;
  // Where no change reaches the goal on the cards of the question: the smallest usual cards that
  // do.
  std::optional<Cards> smallest;
};

enum class Levers { skip, search };

Result<Plan> make_plan(const Request& request, Levers levers = Levers::search);
// The same on things already resolved (sweeps, comparisons).
Result<Plan> make_plan(Resolved resolved, Levers levers = Levers::search);
// Only the verdict and what goes with it (engines::Detail): for searches over many plans.
struct Sketch {
  engines::Assessment assessment;
  Verdict verdict;
};
Result<Sketch> sketch_plan(const Resolved& resolved, engines::Detail detail);

}  // namespace vramwise::plan
