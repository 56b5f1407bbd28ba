#include "workload/scheduler.h"

namespace vramwise::workload {

std::string_view to_string(Policy policy) {
  switch (policy) {
    case Policy::decode_first: return "decode_first";
    case Policy::prefill_first: return "prefill_first";
    case Policy::slots: return "slots";
  }
  return "";
}

StepTime StepTime::scaled(double factor) const {
  StepTime t = *this;
  t.fixed *= factor;
  t.per_decode *= factor;
  t.per_context_token *= factor;
  t.per_prefill_token *= factor;
  t.per_prefill_pair *= factor;
  t.beyond_table *= factor;
  for (double& value : t.by_tokens) value *= factor;
  return t;
}

}  // namespace vramwise::workload
