#include "engines/llamacpp/compute.h"

#include <algorithm>

namespace vramwise::engines::llamacpp {
namespace {

// Models whose start-up probes leave traces: the fused delta rule may be switched off, and the room
// for split inputs is learned.
bool probes_matter(const Shape& shape) {
  for (size_t i = 0; i < shape.layers.size(); ++i) {
    const LayerShape& l = shape.layers[i];
    if (l.mixer == MixerKind::delta || l.mixer == MixerKind::kimi_delta) return true;
    if (l.cache_of >= 0 && l.cache_of != int32_t(i)) return shape.per_layer.streams == 0;
  }
  return false;
}

constexpr int64_t kOneToken = 1;
constexpr int64_t kManyTokens = 16;  // tokens a sequence of the second probe

}  // namespace

// The fused op is kept if every one of them lands on its layer's device.
// Source: llama.cpp src/llama-context.cpp, resolve_fused_ops.
bool ComputePlanner::delta_rule_stays(const GraphInput& input, int64_t tokens,
                                      std::span<const BackendProfile> backends,
                                      const ScheduleOptions& options) {
  GraphInput probe = input.with_batch(tokens);
  probe.pins = true;
  probe.delta_one_token = probe.delta_many_tokens = true;
  build_graph(graph_, probe);
  scheduler_.run(graph_, backends, options);
  return std::all_of(graph_.nodes.begin(), graph_.nodes.end(), [&](TensorId id) {
    const Tensor& t = graph_[id];
    return t.op != Op::gated_delta_net || t.device == input.layer_device[size_t(t.layer)];
  });
}

ComputePlan ComputePlanner::plan(const GraphInput& asked, std::span<const BackendProfile> backends,
                                 const ScheduleOptions& options) {
  GraphInput input = asked;
  scheduler_.forget();
  if (backends.size() > 1 && !input.settings.draft_head && probes_matter(*input.shape)) {
    input.delta_one_token &= delta_rule_stays(asked, kOneToken, backends, options);
    input.delta_many_tokens &= delta_rule_stays(asked, kManyTokens, backends, options);
  }
  build_graph(graph_, input);
  ComputePlan result;
  result.nodes = int(graph_.nodes.size());
  const Scheduler::Result& scheduled = scheduler_.run(graph_, backends, options);
  result.splits = scheduled.splits;
  result.bytes = allocator_.run(graph_, scheduled.leaves, scheduled.nodes, backends);
  return result;
}

}  // namespace vramwise::engines::llamacpp
