// Predicted beside logged: line by line, what is off, and whether the log agrees with itself.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"
#include "verify/expect.h"
#include "verify/log.h"

namespace vramwise::verify {

struct Row {
  Expected expected;
  Logged logged;
  double difference = 0;  // logged less predicted
  bool within_bar = false;
  bool exact = false;  // equal to the printed digit
};

// A share of the difference, and whose it is.
struct Attribution {
  Component component = Component::settings;
  double bytes = 0;  // logged less predicted
  bool beyond_bar = false;
  std::string text;
};

// A sum that the log's own numbers have to make.
struct Check {
  std::string id;  // "budget", "pool"
  bool holds = true;
  double difference = 0;
  std::string text;
};

struct Reconciliation {
  std::vector<Row> rows;
  std::vector<Attribution> attributions;  // largest first; empty when all agrees
  std::vector<Check> checks;
  bool agrees = true;  // every row within its bar, every check holds
};

// `plan` is of the log's own configuration. `pool` is the same with the cache memory that was
// logged, where the engine takes one; null without.
Reconciliation reconcile(const Log& log, const plan::Plan& plan, const plan::Plan* pool);

// Only what needs no plan.
std::vector<Check> check_log(const Log& log);

}  // namespace vramwise::verify
