#include "plan/plan.h"

#include <algorithm>

#include "plan/calibration.h"
#include "plan/levers.h"

namespace vramwise::plan {

Result<Plan> make_plan(Resolved resolved, Levers levers) {
  Plan plan;
  plan.resolved = std::move(resolved);
  TRY_ASSIGN(plan.assessment, plan.resolved.engine->assess(plan.resolved.question()));
  plan.verdict = judge(plan.assessment);
  if (levers == Levers::search) {
    plan.levers = find_levers(plan.resolved, plan.assessment, plan.verdict);
    if (plan.verdict.outcome != Outcome::fits &&
        std::none_of(plan.levers.begin(), plan.levers.end(), reaches_here)) {
      plan.smallest = smallest_cards(plan.resolved);
    }
  }
  return plan;
}

Result<Sketch> sketch_plan(const Resolved& resolved, engines::Detail detail) {
  Sketch sketch;
  TRY_ASSIGN(sketch.assessment, resolved.engine->assess(resolved.question(detail)));
  sketch.verdict = judge(sketch.assessment);
  return sketch;
}

Result<Plan> make_plan(const Request& request, Levers levers) {
  TRY_ASSIGN(Resolved resolved, resolve(request));
  if (!request.calibration.is_null()) {
    TRY(calibrate(request.calibration, resolved));
  }
  return make_plan(std::move(resolved), levers);
}

}  // namespace vramwise::plan
