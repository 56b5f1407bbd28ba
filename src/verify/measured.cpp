#include "verify/measured.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "plan/calibration.h"
#include "verify/expect.h"

namespace vramwise::verify {
namespace {

using engines::Assessment;
using json::Value;

// A term of a run: what the plan said and what the log shows.
struct Term {
  double planned = 0, measured = 0;
};
using Terms = std::map<std::string_view, Term>;

// The likely bytes of a row on the fullest device; nullopt: the plan has none.
std::optional<double> row_bytes(const Assessment& a, std::string_view item) {
  for (const engines::LedgerRow& row : a.reserve.rows) {
    if (row.device == a.fullest_device && row.item == item) {
      return double(row.bytes.likely.count());
    }
  }
  return std::nullopt;
}

// Predicted and logged bytes of a field; both or nothing.
std::optional<Term> compared(const Log& log, const std::vector<Expected>& list,
                             std::string_view field) {
  for (const Expected& e : list) {
    if (e.field != field || e.unit != Unit::bytes) continue;
    const auto seen = logged(log, e);
    if (seen) return Term{e.likely, seen->value};
  }
  return std::nullopt;
}

// What was left for the cache: as printed, else as a refusal says it.
std::optional<double> cache_left(const Log& log, const Assessment& a) {
  if (const Reading* cache = log.one("available")) return cache->last;
  for (const Failure& f : log.failures) {
    if (f.number("available_refused") > 0) return f.number("available_refused");
    if (f.number("refused_tokens") > 0 && a.kv.pool_tokens > 0) {
      return double(a.kv.available.likely.count()) * f.number("refused_tokens") /
             double(a.kv.pool_tokens);
    }
    // Too few state blocks: the cache holds them in proportion.
    if (!f.has("state_blocks")) continue;
    for (const engines::Requirement& r : a.requirements) {
      const auto planned = double(r.available.likely.count());
      if (r.what != "state_slots" || planned <= 0) continue;
      return double(a.kv.available.likely.count()) * f.number("state_blocks") / planned;
    }
  }
  return std::nullopt;
}

// vLLM prints every term at debug level; else what weights do not explain of the cache is one term.
void vllm_terms(const Log& log, const std::vector<Expected>& list, const Assessment& a,
                Terms& terms) {
  struct Name {
    std::string_view field, term;
  };
  constexpr std::array kNames = {Name{"weights", "weights"}, Name{"activation", "activations"},
                                 Name{"non_torch", "non_torch"},
                                 Name{"graphs_estimated", "graphs"}};
  double explained = 0;
  for (const Name& name : kNames) {
    const auto found = compared(log, list, name.field);
    if (!found) continue;
    terms[name.term] = *found;
    explained += found->measured - found->planned;
  }
  const auto cache = cache_left(log, a);
  if (!cache || terms.count("activations") > 0) return;
  const double rest = double(a.kv.available.likely.count()) - *cache - explained;
  for (const Expected& e : list) {
    if (e.field == "activation") terms["activations"] = {e.likely, e.likely + rest};
  }
}

// What is gone when SGLang sizes its pool, by its own rule: pool = before x fraction - gone. That
// is what loading took and what is taken between the reading after it and the sizing, on the rank
// with the least left (0.04 to 0.08 GiB of two RTX 3090). nullopt: the log or a limit hides it.
std::optional<double> gone_at_sizing(const Log& log, const Assessment& a,
                                     const engines::Options& given, double before, double loaded) {
  const Reading* tokens = log.one("pool_tokens");
  const auto fraction = a.effective.number("mem_fraction_static", 0, 1);
  if (tokens == nullptr || !fraction || !*fraction || a.kv.pool_tokens <= 0) return std::nullopt;
  if (given.has("max_total_tokens") || given.has("pp_size")) return std::nullopt;
  const double token =
      double(a.kv.available.likely.count()) / double(a.kv.pool_tokens);  // all pools together
  const double pool = tokens->last * token;
  const double gone = before * **fraction - pool;
  // More than a twentieth: tokens of another size than planned, which is no matter of loading.
  return std::abs(gone - loaded) <= pool / 20 ? std::optional(gone) : std::nullopt;
}

// SGLang prints what is free before and after loading; the difference is called the weights.
void sglang_terms(const Log& log, const std::vector<Expected>& list, const plan::Plan& plan,
                  Terms& terms) {
  auto weights = compared(log, list, "weights");
  // Together with the drafter's, which the pool gives way to as well.
  const auto drafter = compared(log, list, "drafter_weights");
  if (weights && drafter) {
    weights->planned += drafter->planned;
    weights->measured += drafter->measured;
  }
  if (weights) terms["weights"] = *weights;
  const Reading* before = log.one("before_loading");
  const Reading* after = log.one("after_loading");
  if (before == nullptr && (after == nullptr || !weights)) return;
  const double free = before != nullptr ? before->last : after->last + weights->measured;
  const Assessment& a = plan.assessment;
  const auto planned = row_bytes(a, "CUDA context and communication");
  const auto& device = plan.resolved.hardware.devices[size_t(std::max(0, a.fullest_device))];
  if (planned) terms["non_torch"] = {*planned, double(device.free().count()) - free};
  if (!weights) return;
  const auto gone = gone_at_sizing(log, a, plan.resolved.settings.options, free, weights->measured);
  if (gone) terms["weights"].measured = *gone;
}

// TensorRT-LLM prints the peak of its trial run, of which the weights are a part.
void trtllm_terms(const Log& log, const std::vector<Expected>& list, const Assessment& a,
                  Terms& terms) {
  const auto weights = compared(log, list, "weights");
  if (weights) terms["weights"] = *weights;
  const auto planned = row_bytes(a, "runtime, communication, graphs and activations");
  const double explained = weights ? weights->measured - weights->planned : 0;
  if (!planned) return;
  if (const auto peak = compared(log, list, "peak")) {
    const double rest = peak->measured - peak->planned - explained;
    terms["activations"] = {*planned, *planned + rest};
    return;
  }
  // Without it: the cache is a fraction of what the peak leaves.
  const Reading* cache = log.one("available");
  const auto fraction = a.effective.number("free_gpu_memory_fraction", 0, 1);
  if (cache == nullptr || !fraction || !*fraction || **fraction <= 0) return;
  const double held = (double(a.kv.available.likely.count()) - cache->last) / **fraction;
  terms["activations"] = {*planned, *planned + held - explained};
}

// llama.cpp's buffers are known to the byte; what is not is "unaccounted" in its last breakdown:
// the driver's context, and after the first prompt the scratch of its kernels.
void llamacpp_terms(const Log& log, const plan::Plan& plan, Terms& terms) {
  const Assessment& a = plan.assessment;
  const Reading* first = nullptr;
  for (const Reading* r : log.all("unaccounted")) {
    if (r->number && (first == nullptr || r->line < first->line)) first = r;
  }
  // Dry runs print what is free before anything is loaded: the rest is then negative or wraps.
  constexpr double kMost = 16.0 * 1024 * 1024 * 1024;
  if (first == nullptr || first->last <= 0 || first->last > kMost) return;
  double planned = 0;
  bool known = false;
  for (const engines::LedgerRow& row : a.need.rows) {
    if (row.device != a.fullest_device) continue;
    const bool context = row.item == "context and kernels of the backend";
    if (!context && row.item != "scratch of ops at the first long prompt") continue;
    planned += double(row.bytes.likely.count());
    known = known || context;
  }
  if (known) terms["non_torch"] = {planned, first->last};
}

}  // namespace

Value measured_run(const Log& log, const plan::Plan& plan) {
  if (plan.resolved.hardware.devices.empty()) return {};
  const std::vector<Expected> list = expectations(plan);
  const std::string_view engine = plan.resolved.engine->name();
  Terms found;
  if (engine == "vllm") vllm_terms(log, list, plan.assessment, found);
  if (engine == "sglang") sglang_terms(log, list, plan, found);
  if (engine == "trtllm") trtllm_terms(log, list, plan.assessment, found);
  if (engine == "llama.cpp" || engine == "ollama") llamacpp_terms(log, plan, found);
  if (found.empty()) return {};
  Value terms = Value::object();
  for (const auto& [name, term] : found) {
    Value value = Value::object();
    value.set("planned_bytes", int64_t(term.planned));
    value.set("measured_bytes", int64_t(term.measured));
    terms.set(name, std::move(value));
  }
  Value run = Value::object();
  run.set("engine", engine);
  run.set("version", plan.resolved.settings.version.text);
  run.set("gpu", plan.resolved.hardware.devices.front().gpu.id);
  run.set("devices", int64_t(plan.resolved.hardware.devices.size()));
  run.set("model", plan.resolved.model->id);
  run.set("family", plan.resolved.model->architecture);
  run.set("weights", plan.resolved.weights->format);
  run.set("options", plan::measured_options(plan.assessment));
  run.set("terms", std::move(terms));
  return run;
}

}  // namespace vramwise::verify
