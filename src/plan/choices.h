// Which GPUs hold a model, and which models a machine holds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"
#include "plan/prices.h"

namespace vramwise::plan {

// One GPU type, count and layout that answers the question.
struct GpuChoice {
  std::string gpu;
  int count = 1;
  engines::Layout layout;
  Verdict verdict;
  int64_t users = -1;
  Bytes taken;                 // on the fullest card
  Bytes free;                  // on the fullest card
  std::optional<Price> price;  // of `count` cards for an hour; empty: none known
  bool pareto = false;         // no other choice costs less and serves as many users
};

struct GpuSearch {
  std::vector<GpuChoice> choices;  // those that fit (and tight ones when asked), cheapest first,
                                   // unpriced ones after them by total memory
  int64_t tried = 0;               // plans made
  // When nothing fits: the choice that comes nearest.
  std::optional<GpuChoice> nearest;
};

struct GpuSearchOptions {
  bool include_tight = false;
  int max_count = 8;
  std::vector<std::string> only;  // ids; empty: all of the catalog
  std::vector<Offer> prices;      // of one's own; empty: the catalog's
};

Result<GpuSearch> find_gpus(const Resolved& resolved, const GpuSearchOptions& options);

// The question on the cards of a choice.
Resolved with_choice(const Resolved& resolved, const GpuChoice& choice);

// A model of the catalog that a machine holds.
struct ModelChoice {
  std::string model;
  std::string format;  // the best that fits, else the best that is decided inside the bars
  Outcome outcome = Outcome::fits;  // or tight
  int64_t parameters = 0;
  int64_t active_parameters = 0;
  int64_t users = -1;
  int64_t longest_sequence = -1;
  Bytes free;
};

// For each catalog model the heaviest format of the engine that fits the request's workload, else
// the heaviest that is tight; those that fit first, largest models first. `request.model` is
// ignored.
Result<std::vector<ModelChoice>> find_models(const Request& request);

}  // namespace vramwise::plan
