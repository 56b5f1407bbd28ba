// A question planned again with changes applied.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace vramwise::plan {

using Changes = std::vector<const engines::LeverCandidate*>;

// Cost to the person, by the engine's own order; of several the sum.
int cost_of(const Changes& changes);

// Weights of the formats tried, each with its memo: several combinations name the same format.
class Formats {
 public:
  explicit Formats(const Resolved& resolved) : resolved_(resolved) {}
  // False when the model cannot have the format.
  bool put(const std::string& format, Resolved& into) {
    auto at = known_.find(format);
    if (at == known_.end()) {
      Resolved changed = resolved_;
      auto weights = weights::choose_weights(*changed.model, format);
      if (weights) {
        changed.set_weights(std::move(*weights));
      } else {
        changed.weights = nullptr;
      }
      at = known_.emplace(format, std::move(changed)).first;
    }
    into.weights = at->second.weights;
    into.memo = at->second.memo;
    return into.weights != nullptr;
  }

 private:
  const Resolved& resolved_;
  std::map<std::string, Resolved> known_;
};

class Trial {
 public:
  // What changes make of the question, and how it comes out.
  struct Outcome {
    Lever lever;
    Resolved changed;
    engines::Assessment assessment;
  };

  Trial(const Resolved& resolved, const engines::Assessment& before);
  // Empty when a change cannot be made (a format that the model does not have).
  std::optional<Outcome> run(const Changes& changes, engines::Detail detail);
  std::optional<Lever> attempt(const Changes& changes);

 private:
  const Resolved& resolved_;
  Formats formats_;
  Bytes need_before_;
};

}  // namespace vramwise::plan
