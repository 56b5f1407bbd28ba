// From a request to things: model, weights, machine. What can be wrong here is the input.
#pragma once

#include <memory>

#include "base/result.h"
#include "engines/engine.h"
#include "plan/request.h"

namespace vramwise::plan {

// Owns what a Question points to. Copies share the model, which never changes.
struct Resolved {
  std::shared_ptr<const model::Model> model;
  std::shared_ptr<const weights::Weights> weights;
  std::shared_ptr<const model::Model> draft_model;  // null: none, or one that is not known
  std::shared_ptr<const weights::Weights> draft_weights;
  engines::Hardware hardware;
  const engines::Engine* engine = nullptr;
  std::shared_ptr<engines::Memo> memo;  // of engine, model and weights; shared by copies
  engines::Settings settings;
  engines::Workload workload;
  Notes notes;

  engines::Question question(engines::Detail detail = engines::Detail::full) const;
  // Replaces the weights, and with them what the engine remembers of the old ones.
  void set_weights(weights::Weights changed);
};

// Errors: not_found (model, GPU, engine, format; nearest names as hints) and whatever the config
// reader finds.
Result<Resolved> resolve(const Request& request);

Result<engines::Hardware> resolve_hardware(const HardwareSpec& spec);
// The model's config with overrides applied, then built.
Result<std::shared_ptr<const model::Model>> resolve_model(const ModelSpec& spec,
                                                          std::string& weights_of_ref,
                                                          Notes& notes);

// Model and weights together: from the headers of the model's own files where the request has them,
// else from its config or the catalog. `format` as in a request; empty: what the files say.
struct ResolvedModel {
  std::shared_ptr<const model::Model> model;
  std::shared_ptr<const weights::Weights> weights;
};
Result<ResolvedModel> resolve_weights(const ModelSpec& spec, std::string_view format, Notes& notes);

}  // namespace vramwise::plan
