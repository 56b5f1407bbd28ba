#include "plan/verdict.h"

namespace vramwise::plan {

using engines::Requirement;

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::fits: return "fits";
    case Outcome::tight: return "tight";
    case Outcome::does_not_fit: return "does_not_fit";
    case Outcome::refuses_to_start: return "refuses_to_start";
  }
  return "";
}

namespace {

enum class Held { yes, unsure, no };

Held held(const Requirement& r) {
  if (r.needed.high <= r.available.low) return Held::yes;
  if (r.needed.low > r.available.high) return Held::no;
  return Held::unsure;
}

Verdict from(const Requirement& r, Outcome outcome, bool starts) {
  Verdict verdict;
  verdict.outcome = outcome;
  verdict.starts = starts;
  verdict.binding = r.what;
  verdict.explanation = r.explanation;
  verdict.engine_error = r.engine_error;
  if (r.unit == "bytes" && r.needed.likely > r.available.likely) {
    verdict.shortfall = r.needed.likely - r.available.likely;
  }
  return verdict;
}

// Share of the available amount that a requirement takes; the largest binds.
double fill(const Requirement& r) {
  if (r.available.likely.count() <= 0) return 0;
  return double(r.needed.likely.count()) / double(r.available.likely.count());
}

}  // namespace

Verdict judge(const engines::Assessment& assessment) {
  if (!assessment.refusals.empty()) {
    const engines::Refusal& refusal = assessment.refusals.front();
    Verdict verdict;
    verdict.outcome = Outcome::refuses_to_start;
    verdict.starts = false;
    verdict.binding = refusal.what;
    verdict.explanation = refusal.explanation;
    verdict.engine_error = refusal.engine_error;
    return verdict;
  }
  const Requirement* unsure = nullptr;
  bool unsure_start = false;
  for (const Requirement& r : assessment.requirements) {
    const Held state = held(r);
    if (state == Held::no) {
      if (r.kind == Requirement::Kind::engine_refuses) {
        return from(r, Outcome::refuses_to_start, false);
      }
      return from(r, Outcome::does_not_fit, r.kind == Requirement::Kind::workload);
    }
    if (state == Held::unsure) {
      if (unsure == nullptr) unsure = &r;
      // Whether it starts follows the likely value of the start's own requirements.
      if (r.kind != Requirement::Kind::workload && r.needed.likely > r.available.likely) {
        unsure_start = true;
      }
    }
  }
  if (unsure != nullptr) {
    return from(*unsure, Outcome::tight, !unsure_start);
  }
  Verdict verdict;
  double fullest = -1;
  for (const Requirement& r : assessment.requirements) {
    if (fill(r) > fullest) {
      fullest = fill(r);
      verdict.binding = r.what;
    }
  }
  return verdict;
}

}  // namespace vramwise::plan
