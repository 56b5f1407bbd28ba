#include "verify/measured.h"

#include <array>

#include "plan/calibration.h"
#include "verify/expect.h"

namespace vramwise::verify {
namespace {

using json::Value;

struct TermName {
  std::string_view field, term;
};
constexpr std::array kTerms = {
    TermName{"weights", "weights"}, TermName{"activation", "activations"},
    TermName{"non_torch", "non_torch"}, TermName{"graphs_estimated", "graphs"}};

Value term(double planned, double measured) {
  Value value = Value::object();
  value.set("planned_bytes", int64_t(planned));
  value.set("measured_bytes", int64_t(measured));
  return value;
}

}  // namespace

Value measured_run(const Log& log, const plan::Plan& plan) {
  Value terms = Value::object();
  double explained = 0;
  bool activation = false;
  for (const Expected& e : expectations(plan)) {
    const auto seen = logged(log, e);
    if (!seen || e.unit != Unit::bytes) continue;
    for (const TermName& name : kTerms) {
      if (name.field != e.field) continue;
      terms.set(name.term, term(e.likely, seen->value));
      explained += seen->value - e.likely;
      activation = activation || name.term == "activations";
    }
  }
  // Most logs print the cache only: what weights do not explain of it is one term.
  const Reading* cache = log.one("available");
  if (cache != nullptr && !activation) {
    const double planned_cache = double(plan.assessment.kv.available.likely.count());
    const double rest = planned_cache - cache->last - explained;
    for (const Expected& e : expectations(plan)) {
      if (e.field == "activation") terms.set("activations", term(e.likely, e.likely + rest));
    }
  }
  if (terms.as_object().empty() || plan.resolved.hardware.devices.empty()) return {};
  Value run = Value::object();
  run.set("engine", plan.resolved.engine->name());
  run.set("version", plan.resolved.settings.version.text);
  run.set("gpu", plan.resolved.hardware.devices.front().gpu.id);
  run.set("devices", int64_t(plan.resolved.hardware.devices.size()));
  run.set("model", plan.resolved.model->id);
  run.set("family", plan.resolved.model->architecture);
  run.set("weights", plan.resolved.weights->format);
  run.set("options", plan::measured_options(plan.assessment));
  run.set("terms", std::move(terms));
  return run;
}

}  // namespace vramwise::verify
