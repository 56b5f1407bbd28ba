#include "plan/draft.h"

#include <utility>

namespace vramwise::plan {
namespace {

void keep(ResolvedModel found, Resolved& resolved) {
  resolved.draft_model = std::move(found.model);
  resolved.draft_weights = std::move(found.weights);
}

}  // namespace

Result<bool> resolve_draft(const Request& request, Resolved& resolved) {
  Notes notes;
  if (request.draft.given) {
    auto found = resolve_weights(request.draft.model, request.draft.weights, notes);
    if (!found) {
      Error error = std::move(found.error());
      std::string& place = error.where.source;
      place = place.empty() ? "draft" : "draft." + place;
      return fail(std::move(error));
    }
    keep(std::move(*found), resolved);
    resolved.notes.append(notes);
    return true;
  }
  const std::string name = resolved.engine->draft_named(resolved.settings);
  if (name.empty()) return true;
  ModelSpec spec;
  spec.ref = name;
  auto found = resolve_weights(spec, "", notes);
  if (!found) {
    resolved.notes.warn(
        "draft_unknown",
        "the draft model " + name.substr(0, 120) +
            " is not in the catalog: give its config or its file as `draft` (--draft)");
    return true;
  }
  keep(std::move(*found), resolved);
  resolved.notes.append(notes);
  return true;
}

}  // namespace vramwise::plan
