#include "plan/lever_trial.h"

#include <algorithm>

namespace vramwise::plan {

using engines::LeverCandidate;

namespace {

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

}  // namespace

int cost_of(const Changes& changes) {
  int sum = 0;
  for (const LeverCandidate* change : changes) sum += change->order;
  return sum;
}

Trial::Trial(const Resolved& resolved, const engines::Assessment& before)
    : resolved_(resolved), formats_(resolved), need_before_(need(before)) {}

std::optional<Trial::Outcome> Trial::run(const Changes& changes, engines::Detail detail) {
  auto changed = apply(resolved_, formats_, changes);
  if (!changed) return std::nullopt;
  auto assessment = changed->engine->assess(changed->question(detail));
  if (!assessment) return std::nullopt;
  Lever lever;
  for (const LeverCandidate* change : changes) lever.ids.push_back(change->id);
  lever.order = cost_of(changes);
  lever.change = joined(changes, &LeverCandidate::change, ", and ");
  lever.option = joined(changes, &LeverCandidate::option, " ");
  lever.cost = joined(changes, &LeverCandidate::cost, "; ");
  lever.freed = need_before_ - need(*assessment);
  lever.after = judge(*assessment);
  lever.users = assessment->users;
  lever.check = assessment->check;
  lever.combined = changes.size() > 1;
  lever.set = merge_patch(changes);
  return Outcome{std::move(lever), std::move(*changed), std::move(*assessment)};
}

std::optional<Lever> Trial::attempt(const Changes& changes) {
  auto outcome = run(changes, engines::Detail::lever);
  if (!outcome) return std::nullopt;
  return std::move(outcome->lever);
}

}  // namespace vramwise::plan
