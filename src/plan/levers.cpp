#include "plan/levers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "plan/outcome_rank.h"

namespace vramwise::plan {
namespace {

using engines::LeverCandidate;

// Re-plans are cheap but not free (a llama.cpp graph is simulated in each), so the search is
// capped.
constexpr size_t kMaxCandidates = 16;
constexpr int kMaxReplans = 120;
constexpr size_t kMaxCombined = 3;  // combinations shown

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

// The resolved question with the changes applied; nullopt when a change cannot be (unknown format).
std::optional<Resolved> apply(const Resolved& resolved, Formats& formats,
                              const std::vector<const LeverCandidate*>& changes) {
  Resolved changed = resolved;
  std::string format;
  for (const LeverCandidate* change : changes) {
    for (const auto& [name, value] : change->options) {
      if (value.is_null()) {
        changed.settings.options.erase(name);
      } else {
        changed.settings.options.set(name, value);
      }
    }
    if (!change->weights_format.empty()) format = change->weights_format;
    // What was measured is of these weights on these cards.
    if (!change->weights_format.empty() || !change->gpu.empty() || change->devices > 0) {
      changed.settings.calibration = nullptr;
    }
    if (!change->gpu.empty() && !changed.hardware.devices.empty()) {
      auto gpu = catalog::find_gpu(change->gpu);
      if (!gpu) return std::nullopt;
      for (engines::Device& device : changed.hardware.devices) {
        device.total = gpu->total;
        device.total_uncertainty = gpu->total_uncertainty;
        device.used = Bytes();
        device.gpu = *gpu;
      }
    }
    if (change->devices > 0 && !changed.hardware.devices.empty()) {
      changed.hardware.devices.resize(size_t(change->devices), changed.hardware.devices.front());
    }
    if (change->changes_workload) changed.workload = change->workload;
  }
  if (!format.empty() && !formats.put(format, changed)) return std::nullopt;
  return changed;
}

// Need on the fullest device, for "bytes freed".
Bytes need(const engines::Assessment& assessment) {
  const engines::Ledger& ledger =
      assessment.need.rows.empty() ? assessment.reserve : assessment.need;
  return ledger.total(assessment.fullest_device).likely;
}

struct Tried {
  std::vector<const LeverCandidate*> changes;
  Lever lever;
  Bytes freed;
};

std::string joined(const std::vector<const LeverCandidate*>& changes,
                   std::string LeverCandidate::* part, std::string_view between) {
  std::string text;
  for (const LeverCandidate* change : changes) {
    if ((change->*part).empty()) continue;
    if (!text.empty()) text += between;
    text += change->*part;
  }
  return text;
}

// The changes as a merge patch of the request that was planned.
json::Value merge_patch(const std::vector<const LeverCandidate*>& changes) {
  json::Value options = json::Value::object();
  json::Value hardware = json::Value::object();
  json::Value workload = json::Value::object();
  json::Value patch = json::Value::object();
  for (const LeverCandidate* change : changes) {
    for (const auto& [name, value] : change->options) options.set(name, value);
    if (!change->weights_format.empty()) patch.set("weights", change->weights_format);
    if (!change->gpu.empty()) {
      hardware.set("gpu", change->gpu);
      hardware.set("total_bytes", json::Value());  // the card's own
      hardware.set("used_bytes", json::Value());
    }
    if (change->devices > 0) hardware.set("count", change->devices);
    if (change->changes_workload) {
      if (change->workload.sequence_tokens.count() > 0)
        workload.set("sequence_tokens", change->workload.sequence_tokens);
      if (change->workload.concurrency.count() > 0)
        workload.set("concurrency", change->workload.concurrency.count());
    }
  }
  if (!options.as_object().empty()) {
    json::Value engine = json::Value::object();
    engine.set("options", std::move(options));
    patch.set("engine", std::move(engine));
  }
  if (!hardware.as_object().empty()) patch.set("hardware", std::move(hardware));
  if (!workload.as_object().empty()) patch.set("workload", std::move(workload));
  return patch;
}

std::optional<Lever> attempt(const Resolved& resolved, Formats& formats, Bytes need_before,
                             const std::vector<const LeverCandidate*>& changes) {
  const auto changed = apply(resolved, formats, changes);
  if (!changed) return std::nullopt;
  const auto assessment = changed->engine->assess(changed->question(engines::Detail::lever));
  if (!assessment) return std::nullopt;
  Lever lever;
  for (const LeverCandidate* change : changes) {
    lever.ids.push_back(change->id);
    lever.order += change->order;
  }
  lever.change = joined(changes, &LeverCandidate::change, ", and ");
  lever.option = joined(changes, &LeverCandidate::option, " ");
  lever.cost = joined(changes, &LeverCandidate::cost, "; ");
  lever.freed = need_before - need(*assessment);
  lever.after = judge(*assessment);
  lever.users = assessment->users;
  lever.combined = changes.size() > 1;
  lever.set = merge_patch(changes);
  return lever;
}

}  // namespace

std::vector<Lever> find_levers(const Resolved& resolved, const engines::Assessment& before,
                               const Verdict& verdict) {
  std::vector<LeverCandidate> candidates = resolved.engine->levers(resolved.question(), before);
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const LeverCandidate& a, const LeverCandidate& b) { return a.order < b.order; });
  if (candidates.size() > kMaxCandidates) candidates.resize(kMaxCandidates);
  const Bytes need_before = need(before);
  Formats formats(resolved);

  std::vector<Lever> singles;
  std::vector<const LeverCandidate*> helpful;  // candidates that can take part in a combination
  bool any_fits = false;
  int replans = 0;
  for (const LeverCandidate& candidate : candidates) {
    auto lever = attempt(resolved, formats, need_before, {&candidate});
    ++replans;
    if (!lever) continue;
    // A change that neither improves the verdict nor adds users is noise once everything fits;
    // before that, one that frees memory may still take part in a combination.
    const bool better = rank(lever->after.outcome) < rank(verdict.outcome);
    const bool more_users = lever->users > before.users;
    if (verdict.outcome == Outcome::fits && !more_users) continue;
    if (lever->freed.count() <= 0 && !better && !more_users) continue;
    if (lever->after.outcome == Outcome::fits) any_fits = true;
    helpful.push_back(&candidate);
    singles.push_back(std::move(*lever));
  }

  std::vector<Lever> combined;
  if (verdict.outcome != Outcome::fits && !any_fits) {
    std::vector<std::vector<const LeverCandidate*>> sets;
    for (size_t i = 0; i < helpful.size(); ++i) {
      for (size_t j = i + 1; j < helpful.size(); ++j) {
        if (helpful[i]->id == helpful[j]->id) continue;
        sets.push_back({helpful[i], helpful[j]});
        for (size_t k = j + 1; k < helpful.size(); ++k) {
          if (helpful[k]->id == helpful[i]->id || helpful[k]->id == helpful[j]->id) continue;
          sets.push_back({helpful[i], helpful[j], helpful[k]});
        }
      }
    }
    const auto cost = [](const std::vector<const LeverCandidate*>& set) {
      int sum = 0;
      for (const LeverCandidate* c : set) sum += c->order;
      return sum;
    };
    std::stable_sort(sets.begin(), sets.end(), [&](const auto& a, const auto& b) {
      return cost(a) != cost(b) ? cost(a) < cost(b) : a.size() < b.size();
    });
    for (const auto& set : sets) {
      if (replans++ >= kMaxReplans || combined.size() >= kMaxCombined) break;
      // A superset of a set that already fits costs more for nothing.
      auto lever = attempt(resolved, formats, need_before, set);
      if (lever && lever->after.outcome == Outcome::fits) {
        const bool superset = std::any_of(combined.begin(), combined.end(), [&](const Lever& c) {
          return std::all_of(c.ids.begin(), c.ids.end(), [&](const std::string& id) {
            return std::find(lever->ids.begin(), lever->ids.end(), id) != lever->ids.end();
          });
        });
        if (!superset) combined.push_back(std::move(*lever));
      }
    }
  }

  // Those that reach the goal first, each part in order of cost.
  std::vector<Lever> all = std::move(singles);
  all.insert(all.end(), std::make_move_iterator(combined.begin()),
             std::make_move_iterator(combined.end()));
  std::stable_sort(all.begin(), all.end(), [&](const Lever& a, const Lever& b) {
    const bool fa = a.after.outcome == Outcome::fits;
    const bool fb = b.after.outcome == Outcome::fits;
    if (fa != fb) return fa;
    return a.order < b.order;
  });
  return all;
}

}  // namespace vramwise::plan
