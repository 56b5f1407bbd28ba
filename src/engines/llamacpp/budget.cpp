#include "engines/llamacpp/budget.h"

#include <algorithm>

#include "base/text.h"
#include "engines/llamacpp/graph/families.h"

namespace vramwise::engines::llamacpp {
namespace {

constexpr int kPipelineCopies = 4;  // GGML_SCHED_MAX_COPIES
constexpr int64_t kFloat = 4;
constexpr size_t kRounds = 2;  // of a pattern of layers: then the allocator repeats itself

// Patterns are not compared: settings with any are never the same.
bool same_placement(const PlacementSettings& a, const PlacementSettings& b) {
  return a.overrides.empty() && b.overrides.empty() && a.n_gpu_layers == b.n_gpu_layers &&
         a.split == b.split && a.tensor_split == b.tensor_split && a.main_gpu == b.main_gpu &&
         a.cpu_moe_layers == b.cpu_moe_layers && a.repack == b.repack && a.mmap == b.mmap &&
         a.draft_head == b.draft_head;
}

}  // namespace

int64_t Budget::draft_total(size_t device) const {
  return saturating_add(draft_model[device],
                        saturating_add(draft_cache[device], draft_compute[device]));
}

int64_t Budget::total(size_t device) const {
  int64_t sum = saturating_add(model[device], context(device));
  sum = saturating_add(sum, compute[device]);
  return saturating_add(sum, draft_total(device));
}

Budgeter::Budgeter(const Shape& shape, const weights::GgufModel& gguf, const Rules& rules,
                   const json::Value& profile, const Hardware& hardware, const Request& request,
                   ComputeMemo* memo)
    : shape_(shape), gguf_(gguf), rules_(rules), request_(request), memo_(memo) {
  for (const size_t i : request.devices) {
    const Device& device = hardware.devices[i];
    backends_.push_back(
        device_profile(profile, hardware.backend, int(i), device.gpu.compute_capability, rules));
    free_shares_.push_back(double(std::max<int64_t>(0, device.free().count())));
  }
  // Without devices the host's buffers are plain ones.
  backends_.push_back(
      cpu_profile(profile, request.devices.empty() ? Backend::cpu : hardware.backend));
  backends_key_ = "b" + format_integer(rules.build) + ";";
  for (const BackendProfile& b : backends_) append_key(b, backends_key_);
}

ComputePlan Budgeter::plan_of(Graphs graphs, const GraphInput& input,
                              const ScheduleOptions& schedule) {
  // Backends that reorder ops see further than a few layers; with caches on the host every layer
  // crosses over, and the scheduler learns from all of them how many inputs a split may hold.
  const bool as_built = std::all_of(backends_.begin(), backends_.end(),
                                    [](const auto& b) { return b.order == NodeOrder::as_built; });
  if (graphs == Graphs::folded && as_built && input.settings.kv_offload &&
      folded_.fold(input, kRounds, placement_number_)) {
    ComputePlan plan = planner_.plan(folded_.input(), backends_, schedule);
    if (one_more_.fold(input, kRounds + 1, placement_number_) &&
        planner_.plan(one_more_.input(), backends_, schedule).bytes == plan.bytes) {
      plan.nodes = plan.splits = 0;
      return plan;
    }
  }
  return planner_.plan(input, backends_, schedule);
}

// A compute plan depends on the file (one memo has one), the build, the classes of devices, where
// layers and weights lie, and the context.
ComputePlan Budgeter::compute_of(Graphs graphs, const GraphInput& input, const Placement& placement,
                                 const PlacementSettings& settings,
                                 const ScheduleOptions& schedule) {
  if (memo_ == nullptr) return plan_of(graphs, input, schedule);
  std::string key = backends_key_;
  key += graphs == Graphs::whole ? 'w' : 'f';
  const auto add = [&key](int64_t number) {
    key += format_integer(number);
    key += ',';
  };
  for (size_t i = 0; i < input.layer_device.size();) {
    size_t end = i;
    while (end < input.layer_device.size() && input.layer_device[end] == input.layer_device[i]) {
      ++end;
    }
    add(input.layer_device[i]);
    add(int64_t(end - i));
    i = end;
  }
  key += ';';
  // Overrides move single tensors; without them the weights follow their layers.
  if (settings.has_overrides()) placement.weights.append_devices(key);
  const ContextSettings& c = input.settings;
  for (const int64_t part : {int64_t(input.output_device),
                             int64_t(input.full_offload),
                             int64_t(input.pins),
                             int64_t(input.delta_one_token),
                             int64_t(input.delta_many_tokens),
                             int64_t(schedule.op_offload),
                             int64_t(schedule.copies),
                             c.n_ctx,
                             c.n_batch,
                             c.n_ubatch,
                             c.sequences,
                             int64_t(c.unified),
                             int64_t(c.swa_full),
                             int64_t(c.flash),
                             int64_t(c.kv_offload),
                             int64_t(c.type_k),
                             int64_t(c.type_v),
                             c.output_rows,
                             c.rollback,
                             int64_t(c.draft_head)}) {
    add(part);
  }
  if (const ComputePlan* known = memo_->find(key)) return *known;
  ComputePlan plan = plan_of(graphs, input, schedule);
  memo_->keep(std::move(key), plan);
  return plan;
}

// Split mode tensor joins the devices to one: measured as one, shared out evenly.
Budget Budgeter::measure_joined(const ContextSettings& context, const PlacementSettings& placement,
                                Pass pass, Graphs graphs) {
  PlacementSettings one = placement;
  one.split = SplitMode::none;
  one.tensor_split.assign(devices(), 0.0);
  one.tensor_split.front() = 1.0;
  Budget b = measure(context, one, pass, Pipeline::off, graphs);
  const int64_t n = int64_t(devices());
  for (auto* sizes : {&b.model, &b.full, &b.sliding, &b.recurrent, &b.draft_cache}) {
    const int64_t whole = sizes->front();
    for (size_t d = 0; d < devices(); ++d) (*sizes)[d] = ceil_div(whole, n);
  }
  for (size_t d = 1; d < devices(); ++d) {
    b.compute[d] = b.compute.front();
    b.draft_compute[d] = b.draft_compute.front();
    b.placement.expert_bytes[d] = 0;
  }
  b.placement.expert_bytes.front() = 0;
  return b;
}

Budget Budgeter::measure(const ContextSettings& context, const PlacementSettings& placement,
                         Pass pass, Pipeline pipeline, Graphs graphs) {
  if (placement.split == SplitMode::tensor && devices() > 1) {
    return measure_joined(context, placement, pass, graphs);
  }
  Budget b;
  const size_t count = backends_.size();
  const std::vector<double>& shares =
      placement.tensor_split.empty() ? free_shares_ : placement.tensor_split;
  // Searches over contexts ask for one placement again and again.
  if (placement_number_ == 0 || !same_placement(placement, placed_as_)) {
    placed_ = place(shape_, gguf_, placement, shares, backends_, rules_);
    placed_as_ = placement;
    ++placement_number_;
  }
  b.placement = placed_;
  b.model = b.placement.model_bytes;
  b.size = context_size(shape_, context, rules_);

  b.full.assign(count, 0);
  b.sliding.assign(count, 0);
  b.recurrent.assign(count, 0);
  b.draft_model.assign(count, 0);
  b.draft_cache.assign(count, 0);
  b.draft_compute.assign(count, 0);
  const auto device_of_cache = [&](size_t layer) {
    return size_t(context.kv_offload ? b.placement.layer_device[layer] : b.placement.cpu);
  };
  const std::vector<LayerCache> caches = layer_caches(shape_, context, b.size);
  for (size_t i = 0; i < caches.size(); ++i) {
    const size_t device = device_of_cache(i);
    b.full[device] = saturating_add(b.full[device], caches[i].full);
    b.sliding[device] = saturating_add(b.sliding[device], caches[i].sliding);
    b.recurrent[device] = saturating_add(b.recurrent[device], caches[i].recurrent);
  }

  const bool all_have_events =
      count > 2 && std::all_of(backends_.begin(), backends_.end() - 1,
                               [](const BackendProfile& p) { return p.events; });
  const bool pipelined = pipeline == Pipeline::allowed && all_have_events &&
                         b.placement.full_offload && placement.split == SplitMode::layer &&
                         context.kv_offload && !placement.has_overrides();
  b.copies = pipelined ? kPipelineCopies : 1;

  GraphInput input;
  input.shape = &shape_;
  input.rules = &rules_;
  input.weights = &b.placement.weights;
  input.settings = context;
  input.size = b.size;
  input.layer_device = b.placement.layer_device;
  input.output_device = b.placement.output_device;
  input.cpu = b.placement.cpu;
  // Remote devices cannot be named by a pin.
  const bool remote = count > 1 && backends_.front().offload == OpOffload::never &&
                      backends_.front().order == NodeOrder::as_built;
  input.full_offload = b.placement.full_offload && !remote;
  input.pins = pass == Pass::real;
  input.delta_one_token = rules_.delta_one_token;
  input.delta_many_tokens = rules_.delta_many_tokens;
  const ScheduleOptions schedule{request_.op_offload, b.copies};
  ComputePlan plan = compute_of(graphs, input, b.placement, placement, schedule);
  b.compute = std::move(plan.bytes);
  b.splits = plan.splits;
  b.nodes = plan.nodes;

  // Logits of one token a slot, or its embedding; more rows are added when a batch asks for them.
  const int64_t width = shape_.encoder ? shape_.hidden : shape_.vocab;
  b.output = saturating_multiply(saturating_multiply(kFloat, width), b.size.sequences);

  if (request_.draft_head && request_.placement.draft_head &&
      int64_t(shape_.layers.size()) > shape_.trunk_layers) {
    ContextSettings draft = context;
    draft.draft_head = true;
    draft.type_k = request_.draft_type_k;
    draft.type_v = request_.draft_type_v;
    draft.rollback = 0;
    draft.output_rows = b.size.sequences;
    const ContextSize size = context_size(shape_, draft, rules_);
    const std::vector<LayerCache> heads = layer_caches(shape_, draft, size);
    for (size_t i = 0; i < heads.size(); ++i) {
      const size_t device = device_of_cache(i);
      b.draft_cache[device] = saturating_add(b.draft_cache[device], heads[i].total());
    }
    if (!draft_graph_known(shape_)) {
      b.draft_compute[size_t(b.placement.output_device)] = estimated_head_compute(shape_, size);
      return b;
    }
    input.settings = draft;
    input.size = size;
    b.draft_compute = compute_of(graphs, input, b.placement, placement, schedule).bytes;
  }
  return b;
}

}  // namespace vramwise::engines::llamacpp
