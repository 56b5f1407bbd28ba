#include "engines/llamacpp/draft.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "engines/llamacpp/graph/families.h"

namespace vramwise::engines::llamacpp {
namespace {

// The drafter's options: those of its own under their usual names, the rest as the target has them.
Options own_options(const Options& given) {
  constexpr std::string_view kShared[] = {"flash_attn", "swa_full",     "kv_offload", "op_offload",
                                          "mmap",       "load_mode",    "repack",     "device",
                                          "split_mode", "tensor_split", "main_gpu",   "tool"};
  constexpr std::pair<std::string_view, std::string_view> kOwn[] = {
      {"spec_draft_device", "device"},
      {"spec_draft_ngl", "n_gpu_layers"},
      {"spec_draft_type_k", "cache_type_k"},
      {"spec_draft_type_v", "cache_type_v"},
      {"spec_draft_override_tensor", "override_tensor"},
      {"spec_draft_cpu_moe", "cpu_moe"},
      {"spec_draft_n_cpu_moe", "n_cpu_moe"}};
  Options options;
  for (const std::string_view name : kShared) {
    if (const json::Value* value = given.find(name)) options.set(name, *value);
  }
  for (const auto& [from, to] : kOwn) {
    if (const json::Value* value = given.find(from)) options.set(to, *value);
  }
  return options;
}

}  // namespace

Result<std::unique_ptr<Draft>> Draft::make(const Question& q, const Shape& target,
                                           const Rules& rules, const json::Value& profile,
                                           const Request& request, Notes& notes) {
  std::unique_ptr<Draft> draft(new Draft(target, request));
  draft->rules_ = rules;
  if (request.head_kind != HeadKind::none || !q.draft.given()) {
    const model::Model& shape = q.draft.given() ? *q.draft.model : *q.model;
    const HeadEstimate head = estimate_head(request.head_kind, shape, 1);
    if (head.weights.likely.count() == 0) {
      notes.warn(
          "drafter_unknown",
          "the draft model's memory is not counted: its shape is not known; give its file or "
          "its catalog name as `draft` (--draft)");
      return std::unique_ptr<Draft>();
    }
    draft->head_bytes_ = head.weights.likely.count();
    draft->head_layers_ = head.cache_layers;
    draft->low_ = double(head.weights.low.count()) / double(draft->head_bytes_);
    draft->high_ = double(head.weights.high.count()) / double(draft->head_bytes_);
    notes.assume("drafter_estimated",
                 "the " + std::string(to_string(request.head_kind)) +
                     " head is estimated from the shape of its target, in 16 bits: " +
                     format_bytes(head.weights.likely) + " of weights, " +
                     format_bytes(head.weights.low) + " to " + format_bytes(head.weights.high),
                 "sizes of published EAGLE, EAGLE-3 and DFlash heads");
    return draft;
  }
  Question own = q;
  own.model = q.draft.model;
  own.weights = q.draft.weights;
  own.draft = {};
  own.memo = nullptr;  // the target's
  own.workload = {};
  TRY_ASSIGN(draft->file_, model_file_of(own, rules));
  Notes own_notes;  // the target's notes say the same
  own.settings.options = own_options(q.settings.options);
  own.settings.options.set("parallel", json::Value(request.context.sequences));
  own.settings.options.set("n_outputs_max", json::Value(request.context.sequences));
  TRY_ASSIGN(draft->own_, read_request(own, draft->file_->shape, draft->rules_, own_notes));
  draft->budgeter_ = std::make_unique<Budgeter>(draft->file_->shape, draft->file_->gguf,
                                                draft->rules_, profile, *q.hardware, draft->own_);
  if (!family_of(draft->file_->shape.architecture).checked) {
    notes.assume("draft_graph",
                 "the graph of the draft model's architecture follows a neighbour's");
  }
  return draft;
}

void Draft::add_to(Budget& b, const ContextSettings& target, int64_t train_ctx) {
  if (!budgeter_) return add_estimate(b, target);
  ContextSettings c = own_.context;
  // Its context is as long as the target's, slot for slot.
  c.n_ctx = target.n_ctx > 0 ? target.n_ctx : train_ctx;
  c.n_batch = target.n_batch;
  c.n_ubatch = target.n_ubatch;
  c.sequences = target.sequences;
  c.unified = target.unified;
  c.output_rows = target.sequences;
  c.rollback = 0;
  const Budget own = budgeter_->measure(c, own_.placement, Pass::real, Pipeline::off);
  elsewhere_.clear();
  const size_t host = b.model.size() - 1;
  token_bytes_.assign(b.model.size(), 0);
  for (size_t i = 0; i < own.model.size(); ++i) {
    size_t at = host;
    if (i + 1 < own.model.size()) {
      const auto found =
          std::find(request_.devices.begin(), request_.devices.end(), own_.devices[i]);
      if (found == request_.devices.end()) {
        elsewhere_.push_back({own_.devices[i], own.model[i], own.context(i), own.compute[i]});
        continue;
      }
      at = size_t(std::distance(request_.devices.begin(), found));
    }
    const int64_t token =
        llamacpp::bytes_per_token(file_->shape, c, own.placement.layer_device, int16_t(i));
    token_bytes_[at] = saturating_add(token_bytes_[at], token);
    b.draft_model[at] = saturating_add(b.draft_model[at], own.model[i]);
    b.draft_cache[at] = saturating_add(b.draft_cache[at], own.context(i));
    b.draft_compute[at] = saturating_add(b.draft_compute[at], own.compute[i]);
  }
  b.draft_output = own.output;
}

int64_t Draft::bytes_per_token(size_t device) const {
  return device < token_bytes_.size() ? token_bytes_[device] : 0;
}

// A head sits with the output layer: one layer's cache like the target's widest, and the buffers of
// a graph of that many layers, which the target's own bound from above.
void Draft::add_estimate(Budget& b, const ContextSettings& context) {
  const size_t at = size_t(b.placement.output_device);
  b.draft_model[at] = saturating_add(b.draft_model[at], head_bytes_);
  ContextSettings c = context;
  c.type_k = request_.draft_type_k;
  c.type_v = request_.draft_type_v;
  int64_t widest = 0;
  for (const LayerCache& cache : layer_caches(target_, c, b.size)) {
    widest = std::max(widest, cache.full);
  }
  const int64_t cache = saturating_multiply(widest, head_layers_);
  b.draft_cache[at] = saturating_add(b.draft_cache[at], cache);
  token_bytes_.assign(b.model.size(), 0);
  const int64_t cells = saturating_multiply(b.size.cells, b.size.streams);
  if (cells > 0) token_bytes_[at] = cache / cells;
  b.draft_compute[at] =
      saturating_add(b.draft_compute[at], estimated_head_compute(target_, b.size));
}

}  // namespace vramwise::engines::llamacpp
