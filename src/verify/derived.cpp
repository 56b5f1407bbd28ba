#include "verify/derived.h"

#include <algorithm>

namespace vramwise::verify {
namespace {

// The value of the same rank; else any rank's, since one line may speak for all.
const Reading* of_rank(const Log& log, std::string_view field, const std::string& rank) {
  const Reading* any = nullptr;
  for (const Reading* r : log.all(field)) {
    if (r->rank == rank) return r;
    if (any == nullptr || r->last > any->last) any = r;
  }
  return any;
}

// `sum` less `part` as a reading of its own.
Reading less(const Reading& sum, const Reading* part, std::string_view field) {
  Reading r = sum;
  r.field = std::string(field);
  if (part != nullptr) {
    r.last -= part->last;
    r.rounding += part->rounding;
  }
  r.first = r.smallest = r.largest = r.sum = r.last;
  r.count = 1;
  r.text.clear();
  return r;
}

}  // namespace

void derive_terms(Log& log) {
  std::vector<Reading> found;
  for (const Reading& r : log.readings) {
    if (r.field == "activation_with_graphs") {
      found.push_back(less(r, of_rank(log, "graphs_estimated", r.rank), "activation"));
    }
    if (r.field == "consumed") {
      const Reading* weights = of_rank(log, "weights", r.rank);
      if (weights != nullptr) found.push_back(less(r, weights, "non_torch"));
    }
  }
  for (Reading& r : found) {
    const auto same = [&](const Reading& other) {
      return other.field == r.field && other.rank == r.rank && other.device == r.device;
    };
    const auto known = std::find_if(log.readings.begin(), log.readings.end(), same);
    if (known == log.readings.end()) {
      log.readings.push_back(std::move(r));
    } else if (known->text.empty()) {  // derived before more was read
      *known = std::move(r);
    }
  }
}

}  // namespace vramwise::verify
