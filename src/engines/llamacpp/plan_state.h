// One question answered as far as memory goes: what engine.cpp and levers.cpp both start from.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engines/engine.h"
#include "engines/llamacpp/budget.h"
#include "engines/llamacpp/draft.h"
#include "engines/llamacpp/extras.h"
#include "engines/llamacpp/fit.h"
#include "engines/llamacpp/memo.h"
#include "engines/llamacpp/outside.h"
#include "engines/llamacpp/request.h"

namespace vramwise::engines::llamacpp {

struct PlanState {
  std::shared_ptr<const json::Value> profile;
  Rules rules;
  std::shared_ptr<const ModelFile> file;
  Request request;
  std::unique_ptr<Budgeter> budgeter;  // refers to the parts above
  std::unique_ptr<Draft> draft;        // a separate draft model; null: none
  Budget budget;
  Extras extras;                 // projector, adapters, what grows on the host
  std::vector<Outside> outside;  // of each device
  std::optional<Fit> fit;
  bool fit_decides = false;       // the placement or context shown is fit's choice
  bool fit_would_change = false;  // fit would run it otherwise than shown
  Notes notes;

  const Shape& shape() const { return file->shape; }
  size_t devices() const { return budgeter->devices(); }
  // Measured as a real load does it, with the draft model's part.
  Budget measure(const ContextSettings& context, const PlacementSettings& placement,
                 Pipeline pipeline = Pipeline::allowed, Graphs graphs = Graphs::folded) const {
    Budget b = budgeter->measure(context, placement, Pass::real, pipeline, graphs);
    if (draft) draft->add_to(b, context, shape().train_ctx);
    return b;
  }
  const Device& device(const Question& q, size_t d) const {
    return q.hardware->devices[request.devices[d]];
  }
};

// Errors: bad options, models without a GGUF form.
Result<std::unique_ptr<PlanState>> plan_state(const Question& question);

// What does not fit by sizes alone: the program's own message and what it means.
std::vector<Refusal> refusals_of(const PlanState& state);

// Rows, requirements, log lines.
void fill_ledgers(const Question& question, const PlanState& state, Assessment& assessment);
std::vector<Requirement> requirements_of(const Question& question, const PlanState& state);
std::vector<LogLine> log_lines_of(const Question& question, const PlanState& state);
// The buffers of a device together, which the log prints one by one.
LogCheck log_check_of(const PlanState& state, size_t device);
Buffers buffers_of(const Question& question, const PlanState& state);

std::vector<LeverCandidate> lever_candidates(const Question& question,
                                             const Assessment& assessment);

}  // namespace vramwise::engines::llamacpp
