#include "engines/llamacpp/plan_state.h"

#include <algorithm>

#include "base/text.h"
#include "catalog/catalog.h"
#include "engines/known_versions.h"
#include "engines/llamacpp/better.h"
#include "engines/llamacpp/graph/families.h"
#include "engines/llamacpp/reads.h"
#include "engines/unknown_options.h"

namespace vramwise::engines::llamacpp {
namespace {

// Does any device run out of memory?
bool over_memory(const Question& q, const PlanState& s, const Budget& b) {
  for (size_t d = 0; d < s.devices(); ++d) {
    const Outside o = outside_of(*s.profile, q.hardware->backend, s.device(q, d), s.shape(), b.size,
                                 q.settings.calibration.get());
    const Bytes beside = s.extras.parts.empty() ? Bytes() : s.extras.parts[d].likely();
    if (Bytes(b.total(d)) + o.context.likely + beside > s.device(q, d).free()) return true;
  }
  return false;
}

// Real loads try pipeline copies first and do without when they do not fit.
Budget measured_for_real(const Question& q, PlanState& s, const ContextSettings& context,
                         const PlacementSettings& placement) {
  // What is shown is measured on every layer.
  const Graphs graphs = q.detail == Detail::full ? Graphs::whole : Graphs::folded;
  Budget b = s.measure(context, placement, Pipeline::allowed, graphs);
  if (b.copies > 1 && over_memory(q, s, b)) {
    b = s.measure(context, placement, Pipeline::off, graphs);
    s.notes.assume("pipeline_retry",
                   "Pipeline copies of the inputs do not fit; llama.cpp then loads without them.",
                   "ggml-org/llama.cpp src/llama-context.cpp");
  }
  return b;
}

ReadsPerToken named_reads(const PlanState& s, const Budget& b) {
  ReadsPerToken named;
  const std::vector<int64_t> reads = reads_per_token(s.shape(), s.file->gguf, b);
  for (size_t d = 0; d < reads.size(); ++d) {
    named.emplace_back(s.budgeter->backends()[d].name, Bytes(reads[d]));
  }
  return named;
}

// Beside a fit that leaves something on the host: a placement of our own in the same memory, where
// it reads less from there.
void find_better_fit(const FitAnswer& answer, const FitQuestion& question, const Budget& fitted,
                     PlanState& s) {
  if (answer.n_gpu_layers < 0 || s.devices() == 0) return;
  std::vector<int64_t> room;
  for (size_t d = 0; d < s.devices(); ++d) {
    room.push_back((question.free[d] - question.margin[d]).count());
  }
  ContextSettings context = s.request.context;
  context.n_ctx = answer.n_ctx;
  const auto found = find_better(*s.budgeter, s.file->gguf, context, s.request.placement, room);
  if (!found) return;
  const size_t host = s.devices();
  const int64_t ours = reads_per_token(s.shape(), s.file->gguf, found->budget)[host];
  if (ours >= reads_per_token(s.shape(), s.file->gguf, fitted)[host]) return;
  Fit::Better better;
  better.n_gpu_layers = int64_t(s.shape().layers.size()) + 1;
  better.tensor_split = found->placement.tensor_split;
  better.override_tensor = found->overrides;
  better.reads = named_reads(s, found->budget);
  s.fit->better = std::move(better);
}

void answer_fit(const Question& q, PlanState& s) {
  Request& r = s.request;
  const bool open = !r.layers_given || !r.ctx_given;
  if (!r.fit || !open) return;
  // With a workload fit's choice is only told, and the list of levers tells it nowhere.
  if (q.detail != Detail::full && q.workload.given()) return;
  FitQuestion question;
  for (size_t d = 0; d < s.devices(); ++d) question.free.push_back(s.device(q, d).free());
  if (s.devices() == 0) {
    if (q.hardware->ram.count() <= 0) return;
    question.free.push_back(q.hardware->ram);
  }
  question.margin = r.fit_margin;
  // What the draft model and the projector take is added to the margin first.
  Budget beside = s.budget;
  for (size_t d = 0; d < s.devices() && s.rules.fit_counts_projector; ++d) {
    const Extras::Part& part = s.extras.parts[d];
    question.margin[d] += part.projector.likely + part.projector_compute.likely;
  }
  if (s.draft) {
    for (size_t d = 0; d < question.margin.size(); ++d) {
      question.margin[d] += Bytes(beside.draft_total(d));
      beside.clear_draft(d);
    }
  }
  question.smallest_ctx = r.fit_ctx;
  question.ctx_open = !r.ctx_given;
  question.layers_open = !r.layers_given;
  // One device is measured alike with and without allocation.
  const Budget* measured = s.devices() <= 1 ? &beside : nullptr;
  const FitAnswer answer = run_fit(*s.budgeter, r.context, r.placement, question, measured);
  const int64_t every_layer = int64_t(s.shape().layers.size()) + 1;

  Fit fit;
  fit.ctx_size = answer.n_ctx;
  fit.n_gpu_layers = answer.n_gpu_layers >= 0 ? answer.n_gpu_layers : every_layer;
  if (s.devices() == 0) fit.n_gpu_layers = 0;
  fit.tensor_split = answer.tensor_split;
  fit.override_tensor = answer.overrides;
  s.fit = std::move(fit);
  if (!answer.changed || answer.failed) {
    s.fit->reads = named_reads(s, s.budget);
    return;
  }
  if (q.detail == Detail::full) {
    ContextSettings context = r.context;
    context.n_ctx = answer.n_ctx;
    const Budget fitted = s.budgeter->measure(context, answer.placement, Pass::real);
    s.fit->reads = named_reads(s, fitted);
    find_better_fit(answer, question, fitted, s);
  }
  if (q.workload.given()) {
    // What was asked for is shown as asked, and the command says so.
    s.fit_would_change = true;
    return;
  }
  s.fit_decides = true;
  r.context.n_ctx = answer.n_ctx;
  r.placement = answer.placement;
  s.budget = measured_for_real(q, s, r.context, r.placement);
  s.notes.assume("fit_decides",
                 "-c or -ngl is left to the program: its fit chooses a context of " +
                     format_grouped(answer.n_ctx) + " tokens and " +
                     format_integer(s.fit->n_gpu_layers) + " of " + format_integer(every_layer) +
                     " layers on the GPUs.",
                 "ggml-org/llama.cpp common/fit.cpp");
}

}  // namespace

Result<std::unique_ptr<PlanState>> plan_state(const Question& q) {
  auto state = std::make_unique<PlanState>();
  PlanState& s = *state;
  TRY_ASSIGN(s.profile, catalog::find_shared(catalog::Kind::engine, "llama.cpp"));
  const Version& version = q.settings.version;
  if (version.given && version.build == 0) {
    s.notes.warn("version_without_build",
                 "llama.cpp is versioned by build numbers such as b9200; '" + version.text +
                     "' was taken as the newest.");
  }
  TRY_ASSIGN(s.rules, rules_for(*s.profile, version.build));
  if (q.detail == Detail::full) {
    TRY(warn_of_options(q.settings.options, "llamacpp", "llama.cpp", s.notes));
    warn_of_variables(q.settings.env, "llamacpp", "llama.cpp", s.notes);
    TRY(note_version(version, "llama.cpp", s.notes));
  }
  TRY_ASSIGN(s.file, model_file_of(q, s.rules));
  s.notes.append(s.file->notes);
  TRY_ASSIGN(s.request, read_request(q, s.shape(), s.rules, s.notes));
  FileMemo* memo = memo_of(q);
  s.budgeter = std::make_unique<Budgeter>(s.shape(), s.file->gguf, s.rules, *s.profile, *q.hardware,
                                          s.request, memo != nullptr ? &memo->compute : nullptr);
  if (s.request.placement.split == SplitMode::tensor) {
    s.notes.assume("tensor_split_even",
                   "Split mode tensor: weights and caches are taken to be shared evenly.",
                   "ggml-org/llama.cpp src/llama-model.cpp");
  }
  if (s.request.draft_model) {
    TRY_ASSIGN(s.draft, Draft::make(q, s.shape(), s.rules, *s.profile, s.request, s.notes));
  }
  s.budget = measured_for_real(q, s, s.request.context, s.request.placement);
  TRY_ASSIGN(s.extras, extras_of(q, s.shape(), s.rules, *s.profile, s.request, s.budget, s.notes));
  if (refusals_of(s).empty()) answer_fit(q, s);
  for (size_t d = 0; d < s.devices(); ++d) {
    s.outside.push_back(outside_of(*s.profile, q.hardware->backend, s.device(q, d), s.shape(),
                                   s.budget.size, q.settings.calibration.get()));
  }
  return state;
}

std::vector<Refusal> refusals_of(const PlanState& s) {
  std::vector<Refusal> refusals;
  const ContextSettings& c = s.request.context;
  if (CacheRefusal r = cache_refusal(s.shape(), c); !r.explanation.empty()) {
    refusals.push_back({"cache_type", std::move(r.engine_error), std::move(r.explanation)});
  }
  constexpr int64_t kMostSlots = 256;  // LLAMA_MAX_SEQ
  if (c.sequences > kMostSlots) {
    refusals.push_back(
        {"slots", "n_seq_max must be <= 256", "llama.cpp serves at most 256 sequences at a time."});
  }
  if (s.request.placement.split == SplitMode::tensor && !c.flash) {
    refusals.push_back({"split_mode", "SPLIT_MODE_TENSOR requires flash_attn to be enabled",
                        "Split mode tensor works with flash attention only."});
  }
  if (s.request.placement.split == SplitMode::row && s.rules.row_split_refused) {
    for (size_t d = 0; d < s.devices(); ++d) {
      const BackendProfile& b = s.budgeter->backends()[d];
      if (b.split_buffers) continue;
      refusals.push_back({"split_mode", "device " + b.name + " does not support split buffers",
                          "Since build 9890 split mode row needs a backend with split buffers, "
                          "which CUDA and ROCm no longer have; -sm layer or -sm tensor load."});
      break;
    }
  }
  return refusals;
}

}  // namespace vramwise::engines::llamacpp
