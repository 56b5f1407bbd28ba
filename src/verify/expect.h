// What a plan says the log will print, by field: the lines that engines predict, and the terms of
// the budget behind them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "verify/log.h"

namespace vramwise::verify {

// The part of the budget that a printed value belongs to. Names as in the contract's ledger, and
// three that are none of it.
enum class Component {
  weights,
  activations,
  non_torch,
  graphs,
  groups,
  kv_cache,
  other_processes,
  log_arithmetic,
  settings
};
std::string_view to_string(Component component);
// In a sentence: "weights", "memory outside of torch", "the cache's layout".
std::string_view words_of(Component component);

// How the values of several ranks make one figure.
// Several ranks' values as one: latest is the smallest of what each printed last.
enum class Ranks { smallest, largest, sum, latest };

struct Expected {
  std::string field;   // as in the templates
  std::string device;  // "CUDA0"; empty: no device in the line
  std::string line;    // the line's fixed words
  Component component = Component::settings;
  double low = 0, likely = 0, high = 0;
  Unit unit = Unit::none;
  Ranks ranks = Ranks::smallest;
};

std::vector<Expected> expectations(const plan::Plan& plan);

// The option by which an engine takes a cache of a given size; empty: it has none.
std::string_view cache_bytes_option(std::string_view engine);

// The logged figure for an expectation; nullopt when it was not printed.
struct Logged {
  double value = 0;
  double rounding = 0;
  int64_t line = 0;
  std::vector<const Reading*> ranks;
};
std::optional<Logged> logged(const Log& log, const Expected& expected);

}  // namespace vramwise::verify
