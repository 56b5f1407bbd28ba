#include "plan/bounds.h"

#include <array>

#include "base/text.h"

namespace vramwise::plan {
namespace {

struct OfName {
  Of of;
  std::string_view name;
};
constexpr std::array kNames = {OfName{Of::context, "context"},
                               OfName{Of::concurrency, "concurrency"}, OfName{Of::batch, "batch"},
                               OfName{Of::lora, "lora"}, OfName{Of::weights, "weights"}};

// More users than any server runs; keeps the search short.
constexpr int64_t kMostUsers = 1 << 20;
constexpr int64_t kMostBatchTokens = 1 << 20;
constexpr int64_t kMostAdapters = 4096;
// Without a limit of the model's own: 16 million tokens.
constexpr int64_t kMostTokens = 1 << 24;

// Removes the engine's own option so that the workload decides.
void free_knob(Resolved& resolved, engines::Knob knob) {
  const std::string_view option = resolved.engine->option_of(knob);
  if (!option.empty()) resolved.settings.options.erase(option);
}

// The question with the searched value put in.
Resolved at(const Resolved& base, Of of, int64_t value) {
  Resolved changed = base;
  switch (of) {
    case Of::context:
      free_knob(changed, engines::Knob::sequence_tokens);
      changed.workload.sequence_tokens = Tokens(value);
      if (changed.workload.concurrency.count() == 0) changed.workload.concurrency = Sequences(1);
      break;
    case Of::concurrency:
      free_knob(changed, engines::Knob::concurrency);
      changed.workload.concurrency = Sequences(value);
      break;
    case Of::batch:
      changed.settings.options.set(changed.engine->option_of(engines::Knob::batch_tokens), value);
      break;
    case Of::lora:
      // Without the switch the engine sets no slot aside, whatever their number.
      changed.settings.options.set("enable_lora", true);
      changed.settings.options.set(changed.engine->option_of(engines::Knob::lora_slots), value);
      break;
    case Of::weights: break;
  }
  return changed;
}

Result<Plan> plan_at(const Resolved& base, Of of, int64_t value) {
  return make_plan(at(base, of, value), Levers::skip);
}

// Largest value in [0, limit] for which `holds`, given holds(0).
template <class Holds>
Result<int64_t> largest(int64_t limit, const Holds& holds) {
  int64_t low = 0;
  int64_t high = limit;
  // Most bounds are small against the limit: grow first, then halve.
  int64_t step = 1024;
  while (low < high && step < high) {
    TRY_ASSIGN(const bool ok, holds(step));
    if (!ok) {
      high = step - 1;
      break;
    }
    low = step;
    step *= 4;
  }
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    TRY_ASSIGN(const bool ok, holds(middle));
    if (ok) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

Result<Bound> best_weights(const Resolved& resolved) {
  Bound bound;
  bound.of = Of::weights;
  for (const std::string_view format : resolved.engine->weight_formats()) {
    auto weights = weights::choose_weights(*resolved.model, format);
    if (!weights) continue;  // the format does not exist for this model
    Resolved changed = resolved;
    changed.set_weights(std::move(*weights));
    auto plan = make_plan(std::move(changed), Levers::skip);
    if (!plan) continue;
    const Outcome outcome = plan->verdict.outcome;
    if (outcome == Outcome::fits) {
      bound.format = std::string(format);
      bound.value = 1;
      bound.likely_value = 1;
      bound.plan = std::move(*plan);
      return bound;
    }
    bound.binding = plan->verdict.binding;
    bound.explanation = std::string(format) + ": " + plan->verdict.explanation;
  }
  return bound;
}

}  // namespace

std::string_view to_string(Of of) {
  for (const OfName& entry : kNames) {
    if (entry.of == of) return entry.name;
  }
  return "";
}

Result<Of> of_from_name(std::string_view name) {
  std::vector<std::string> known;
  for (const OfName& entry : kNames) {
    if (entry.name == name) return entry.of;
    known.emplace_back(entry.name);
  }
  return fail(
      Error(ErrorCode::not_found, "cannot search for '" + std::string(name.substr(0, 60)) + "'")
          .at("of")
          .hint("of: " + join(known, ", ") + "; with the lengths of requests also rate, users"));
}

Result<Bound> find_bound(const Resolved& resolved, Of of) {
  if (of == Of::weights) return best_weights(resolved);
  Bound bound;
  bound.of = of;
  switch (of) {
    case Of::context:
      bound.limit = resolved.model->max_positions > 0 ? resolved.model->max_positions : kMostTokens;
      break;
    case Of::concurrency: bound.limit = kMostUsers; break;
    case Of::batch: bound.limit = kMostBatchTokens; break;
    case Of::lora: bound.limit = kMostAdapters; break;
    case Of::weights: break;
  }
  if ((of == Of::batch && resolved.engine->option_of(engines::Knob::batch_tokens).empty()) ||
      (of == Of::lora && resolved.engine->option_of(engines::Knob::lora_slots).empty())) {
    return fail(Error(ErrorCode::unsupported, std::string(resolved.engine->name()) +
                                                  " has no option for " +
                                                  std::string(to_string(of)))
                    .at("of"));
  }
  const auto outcome_at = [&](int64_t value) -> Result<Outcome> {
    TRY_ASSIGN(const Sketch sketch, sketch_plan(at(resolved, of, value), engines::Detail::verdict));
    return sketch.verdict.outcome;
  };
  TRY_ASSIGN(bound.value, largest(bound.limit, [&](int64_t v) -> Result<bool> {
               TRY_ASSIGN(const Outcome outcome, outcome_at(v));
               return outcome == Outcome::fits;
             }));
  TRY_ASSIGN(bound.likely_value, largest(bound.limit, [&](int64_t v) -> Result<bool> {
               TRY_ASSIGN(const Outcome outcome, outcome_at(v));
               return outcome == Outcome::fits || outcome == Outcome::tight;
             }));
  bound.at_limit = bound.value >= bound.limit;
  if (bound.value > 0) {
    TRY_ASSIGN(Plan plan, plan_at(resolved, of, bound.value));
    bound.plan = std::move(plan);
  }
  if (!bound.at_limit) {
    TRY_ASSIGN(const Plan next, plan_at(resolved, of, bound.value + 1));
    bound.binding = next.verdict.binding;
    bound.explanation = next.verdict.explanation;
  }
  return bound;
}

}  // namespace vramwise::plan
