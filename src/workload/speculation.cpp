#include "workload/speculation.h"

#include <algorithm>

#include "base/text.h"
#include "workload/step_parameters.h"

namespace vramwise::workload {
namespace {

constexpr int64_t kMostDrafts = 64;

// Tokens that the plan's engine drafts for each of its own; 0: none.
Result<int64_t> drafts_of(const plan::Plan& plan) {
  TRY_ASSIGN(const EngineTraits traits, EngineTraits::load(plan.resolved.engine->name()));
  const engines::Options& given = plan.resolved.settings.options;
  for (const std::string& name : traits.draft_options) {
    const json::Value* found = plan.assessment.effective.find(name);
    if (found == nullptr) found = given.find(name);
    if (found != nullptr && found->is_integer()) {
      return std::max<int64_t>(0, found->as_integer() - (traits.drafts_count_own ? 1 : 0));
    }
  }
  return plan.resolved.draft_model != nullptr ? traits.draft_default : 0;
}

}  // namespace

Result<bool> apply_speculation(const plan::Plan& plan, std::optional<double> acceptance,
                               Scheduler& scheduler, StepModel& step, Notes& notes) {
  TRY_ASSIGN(const int64_t asked, drafts_of(plan));
  const int64_t drafts = std::min(asked, kMostDrafts);
  if (drafts == 0) {
    if (!acceptance) return true;
    return fail(Error(ErrorCode::inconsistent,
                      "a share of accepted drafts, but the server drafts no tokens")
                    .at("acceptance")
                    .hint("name a draft model (--draft), or the engine's options of speculative "
                          "decoding"));
  }
  if (!acceptance) {
    notes.warn(
        "acceptance",
        "the server drafts " + format_integer(drafts) +
            " tokens at a time; how many are accepted depends on the texts and is not known, "
            "so none are counted: give the share your server reports (--acceptance 70%)");
    return true;
  }
  scheduler.draft_tokens = drafts;
  scheduler.acceptance = *acceptance;
  const double each = double(1 + drafts);
  step.time.tokens_per_decode = 1 + drafts;
  step.time.per_decode += step.head_work * (each - 1);
  const model::Model* draft = plan.resolved.draft_model.get();
  if (draft == nullptr || plan.resolved.draft_weights == nullptr) {
    notes.assume(
        "draft_time",
        "drafting itself is counted as free: what the head or the table costs is not known");
    return true;
  }
  // One token after the other through the draft model: its weights are read for each.
  TRY_ASSIGN(const double pass, draft_pass_seconds(plan, *draft, *plan.resolved.draft_weights));
  step.time.fixed += double(drafts) * pass;
  return true;
}

}  // namespace vramwise::workload
