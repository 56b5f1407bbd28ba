// A question planned again with changes applied.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "weights/mixture_of.h"

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
      auto weights = chosen(format);
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
  // Mixtures of one model are made of one conversion.
  Result<weights::Weights> chosen(const std::string& format) {
    const model::Model& model = *resolved_.model;
    if (resolved_.weights->is_gguf() && !converted_) {
      if (auto converted = weights::gguf_tensors(model)) converted_ = std::move(*converted);
    }
    return converted_ ? weights::choose_weights(model, format, *converted_)
                      : weights::choose_weights(model, format);
  }

  const Resolved& resolved_;
  std::map<std::string, Resolved> known_;
  std::optional<weights::GgufModel> converted_;
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
