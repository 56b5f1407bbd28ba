#include "plan/calibration.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace vramwise::plan {
namespace {

constexpr std::array<std::string_view, 7> kOptions = {
    "max_num_batched_tokens", "max_num_seqs",           "kv_cache_dtype",    "enforce_eager",
    "chunked_prefill_size",   "enable_expert_parallel", "moe_config.backend"};

struct Run {
  std::string engine, version, gpu, model, family, weights;
  int64_t devices = 0;
  const json::Value* options = nullptr;
  const json::Value* terms = nullptr;
};

Result<Run> read_run(const json::Reader& from) {
  Run run;
  TRY_ASSIGN(run.engine, from.require_string({"engine"}));
  TRY_ASSIGN(const auto version, from.optional_string({"version"}));
  TRY_ASSIGN(run.gpu, from.require_string({"gpu"}));
  TRY_ASSIGN(run.model, from.require_string({"model"}));
  TRY_ASSIGN(const auto family, from.optional_string({"family"}));
  TRY_ASSIGN(const auto weights, from.optional_string({"weights"}));
  TRY_ASSIGN(run.devices, from.integer_or({"devices"}, 1, 0, 4096));
  run.version = version.value_or("");
  run.family = family.value_or("");
  run.weights = weights.value_or("");
  run.options = from.value().find("options");
  run.terms = from.value().find("terms");
  if (run.terms == nullptr || !run.terms->is_object()) {
    return fail(from.error(ErrorCode::missing_field, "a measured run has no terms"));
  }
  return run;
}

bool same_release(std::string_view a, std::string_view b) {
  const auto left = engines::Version::parse(a), right = engines::Version::parse(b);
  if (!left || !right) return false;
  if (left->build > 0 || right->build > 0) return left->build == right->build;
  return left->given == right->given && left->major == right->major && left->minor == right->minor;
}

// A run without options is of this very start: it holds whatever is changed.
bool same_options(const Run& run, const engines::Assessment& assessment) {
  if (run.options == nullptr) return true;
  const json::Value now = measured_options(assessment);
  const size_t then_given = run.options->is_object() ? run.options->as_object().size() : 0;
  if (then_given != now.as_object().size()) return false;
  for (const json::Member& m : now.as_object()) {
    const json::Value* then = run.options->find(m.key);
    if (then == nullptr || !(*then == m.value)) return false;
  }
  return true;
}

// Differences of the runs that apply.
class Term {
 public:
  void add(const json::Value& terms, std::string_view name) {
    const json::Value* term = terms.find(name);
    if (term == nullptr) return;
    const json::Value* planned = term->find("planned_bytes");
    const json::Value* measured = term->find("measured_bytes");
    if (planned == nullptr || measured == nullptr || !planned->is_integer() ||
        !measured->is_integer()) {
      return;
    }
    const int64_t shift = saturating_subtract(measured->as_integer(), planned->as_integer());
    sum_ = saturating_add(sum_, shift);
    low_ = runs_ == 0 ? shift : std::min(low_, shift);
    high_ = runs_ == 0 ? shift : std::max(high_, shift);
    ++runs_;
  }
  // Memory shared with the host differs by gigabytes from boot to boot. What one run shows there is
  // as much that boot as that machine: half of it is taken for the machine's, and the bar stays.
  std::optional<engines::MeasuredTerm> get(bool unified) const {
    if (runs_ == 0) return std::nullopt;
    if (unified && runs_ < 2) return engines::MeasuredTerm{Bytes(sum_ / 2), Bytes(), runs_};
    return engines::MeasuredTerm{Bytes(sum_ / runs_), Bytes(saturating_subtract(high_, low_)),
                                 runs_};
  }

 private:
  int64_t sum_ = 0, low_ = 0, high_ = 0;
  int runs_ = 0;
};

}  // namespace

json::Value measured_options(const engines::Assessment& assessment) {
  json::Value options = json::Value::object();
  for (const std::string_view name : kOptions) {
    if (const json::Value* value = assessment.effective.find(name)) options.set(name, *value);
  }
  return options;
}

Result<bool> calibrate(const json::Value& runs, Resolved& resolved) {
  const json::Reader list(runs, "calibration");
  TRY_ASSIGN(const auto items, list.items());
  if (items.empty() || resolved.hardware.devices.empty()) return false;
  resolved.settings.calibration = nullptr;
  TRY_ASSIGN(const engines::Assessment assessment, resolved.engine->assess(resolved.question()));
  Term weights, activations, non_torch, graphs;
  int applied = 0;
  std::string models;
  for (const json::Reader& item : items) {
    TRY_ASSIGN(const Run run, read_run(item));
    if (run.engine != resolved.engine->name()) continue;
    if (run.gpu != resolved.hardware.devices.front().gpu.id) continue;
    if (run.devices != int64_t(resolved.hardware.devices.size())) continue;
    if (!same_release(run.version, resolved.settings.version.text)) continue;
    const bool family = run.family == resolved.model->architecture;
    const bool model = run.model == resolved.model->id && run.weights == resolved.weights->format;
    if (!family && !model) continue;
    ++applied;
    if (!contains(models, run.model)) models += (models.empty() ? "" : ", ") + run.model;
    non_torch.add(*run.terms, "non_torch");
    if (!model) continue;
    weights.add(*run.terms, "weights");
    graphs.add(*run.terms, "graphs");
    if (same_options(run, assessment)) activations.add(*run.terms, "activations");
  }
  const bool unified = resolved.hardware.devices.front().gpu.unified_memory;
  engines::Calibration found;
  found.weights = weights.get(unified);
  found.activations = activations.get(unified);
  found.non_torch = non_torch.get(unified);
  found.graphs = graphs.get(unified);
  if (found.empty()) return false;
  found.words = format_integer(applied) + (applied == 1 ? " run of " : " runs of ") + models;
  resolved.notes.assume(
      "calibrated", "measured on this machine: " + found.words + " (vramwise calibration list)");
  resolved.settings.calibration = std::make_shared<const engines::Calibration>(std::move(found));
  return true;
}

}  // namespace vramwise::plan
