#include "engines/llamacpp/scheduler.h"

#include <algorithm>

namespace vramwise::engines::llamacpp {
namespace {

constexpr size_t kFirstInputRoom = 30;  // GGML_SCHED_MAX_SPLIT_INPUTS, doubled when it overflows

const Tensor& owner(const Graph& graph, const Tensor& t) {
  return t.base == kNoTensor ? t : graph[t.base];
}

bool readable(const Graph& graph, const Tensor& t, int16_t device) {
  const Tensor& memory = owner(graph, t);
  if (memory.memory >= 0) return memory.memory == device;
  return (t.device >= 0 ? t.device : memory.device) == device;
}

// Where a tensor must be because of what it shows or which weight it reads; -1 = open.
int16_t fixed_device(const Graph& graph, const Tensor& t, std::span<const BackendProfile> backends,
                     bool op_offload) {
  const int16_t memory = owner(graph, t).memory;
  if (memory >= 0) return memory;
  const int16_t cpu = int16_t(backends.size() - 1);
  if (t.input) return cpu;
  if (t.op == Op::rope || t.op == Op::flash_attn) return -1;
  for (size_t i = 0; i < t.sources; ++i) {
    const Tensor& s = graph[t.source[i]];
    if (!s.weight) continue;
    if (op_offload && s.memory == cpu) {
      for (int16_t b = 0; b < cpu; ++b) {
        if (takes_over(backends[size_t(b)], graph, t)) return b;
      }
    }
    return s.memory;
  }
  return -1;
}

}  // namespace

void Scheduler::assign(Graph& graph, std::span<const BackendProfile> backends, bool op_offload) {
  const auto fix = [&](TensorId id) {
    if (graph[id].device < 0) {
      graph[id].device = fixed_device(graph, graph[id], backends, op_offload);
    }
  };
  for (const TensorId id : graph.leaves) fix(id);
  for (const TensorId id : graph.nodes) fix(id);
}

void Scheduler::spread(Graph& graph, int16_t cpu) {
  ops_.clear();
  for (const TensorId id : graph.nodes) {
    if (!is_view(graph[id].op)) ops_.push_back(id);
  }
  const auto carry = [&](auto first, auto last, bool skip_cpu) {
    int16_t current = -1;
    for (auto it = first; it != last; ++it) {
      Tensor& t = graph[*it];
      if (t.device >= 0) {
        current = skip_cpu && t.device == cpu ? int16_t(-1) : t.device;
      } else if (current >= 0) {
        t.device = current;
      }
    }
  };
  carry(ops_.begin(), ops_.end(), true);
  carry(ops_.rbegin(), ops_.rend(), true);
  carry(ops_.begin(), ops_.end(), false);
  carry(ops_.rbegin(), ops_.rend(), false);

  for (const TensorId id : graph.nodes) {
    Tensor& t = graph[id];
    if (t.base != kNoTensor && t.device < 0) t.device = graph[t.base].device;
    for (size_t i = 0; i < t.sources; ++i) {
      Tensor& s = graph[t.source[i]];
      if (s.device >= 0) continue;
      s.device = s.base != kNoTensor ? graph[s.base].device : t.device;
    }
    if (t.device < 0) t.device = 0;
  }
}

void Scheduler::split(Graph& graph, int16_t cpu, int copies) {
  devices_ = size_t(cpu) + 1;
  copies_.assign(graph.size() * devices_, kNoTensor);
  graph_inputs_.clear();
  splits_.clear();
  if (ops_.empty()) return;

  int16_t current = graph[ops_.front()].device;
  splits_.push_back({current, {}, {}});
  const auto copy = [&](TensorId id, int16_t device) {
    Tensor t;
    t.type = graph[id].type;
    t.ne = graph[id].ne;
    t.nb = graph[id].nb;
    t.device = device;
    t.input = t.output = copies > 1;  // kept for the whole run, once for each batch in flight
    return graph.add_tensor(t);
  };
  const auto room = [&]() -> size_t& {
    if (input_room_.size() < splits_.size()) input_room_.resize(splits_.size(), 0);
    return input_room_[splits_.size() - 1];
  };
  for (const TensorId id : graph.nodes) {
    if (is_view(graph[id].op)) {
      splits_.back().nodes.push_back(id);
      continue;
    }
    // Copies of what is needed: the graph grows below.
    const struct {
      int16_t device;
      uint8_t sources;
      std::array<TensorId, kMaxSources> source;
    } op{graph[id].device, graph[id].sources, graph[id].source};
    bool cut = op.device != current;
    if (!cut && !splits_.back().inputs.empty()) {
      for (size_t i = 0; i < op.sources && !cut; ++i) {
        const Tensor& s = graph[op.source[i]];
        if (s.device == current || readable(graph, s, current)) continue;
        // Weights pulled over are copied one at a time, so that their memory can be reused.
        const bool pulled = s.weight && s.memory >= 0;
        const bool full =
            splits_.back().inputs.size() >= room() && copy_of(op.source[i], current) == kNoTensor;
        cut = pulled || full;
      }
    }
    if (cut) {
      current = op.device;
      splits_.push_back({current, {}, {}});
    }
    for (size_t i = 0; i < op.sources; ++i) {
      const TensorId source = op.source[i];
      const int16_t home = graph[source].device;
      if (copies > 1 && graph[source].input && copy_of(source, home) == kNoTensor) {
        const TensorId first = copy(source, home);
        for (int c = 2; c < copies; ++c) copy(source, home);
        copy_of(source, home) = first;
        graph[source].output = true;
        graph_inputs_.push_back(source);
      }
      if (home == current || readable(graph, graph[source], current)) continue;
      if (copy_of(source, current) == kNoTensor) {
        const TensorId first = copy(source, current);
        for (int c = 1; c < copies; ++c) copy(source, current);
        copy_of(source, current) = first;
        splits_.back().inputs.push_back(source);
        if (splits_.back().inputs.size() > room()) {
          room() = room() > 0 ? 2 * room() : kFirstInputRoom;
        }
      }
      graph[id].source[i] = copy_of(source, current);
    }
    splits_.back().nodes.push_back(id);
  }
}

const Scheduler::Result& Scheduler::run(Graph& graph, std::span<const BackendProfile> backends,
                                        const ScheduleOptions& options) {
  result_.nodes.clear();
  result_.leaves.clear();
  if (backends.size() == 1) {
    for (const auto* list : {&graph.nodes, &graph.leaves}) {
      for (const TensorId id : *list) {
        graph[id].device = 0;
      }
    }
    result_.nodes = graph.nodes;
    result_.leaves = graph.leaves;
    result_.splits = 1;
    return result_;
  }
  const int16_t cpu = int16_t(backends.size() - 1);
  assign(graph, backends, options.op_offload);
  spread(graph, cpu);
  split(graph, cpu, options.copies);

  const auto append_copies = [&](TensorId first, int count) {
    for (int c = 0; c < count; ++c) result_.leaves.push_back(first + c);
  };
  if (options.copies > 1) {
    for (const TensorId id : graph_inputs_) {
      result_.leaves.push_back(id);
      append_copies(copy_of(id, graph[id].device), options.copies - 1);
    }
    for (const Split& s : splits_) {
      for (const TensorId id : s.inputs) append_copies(copy_of(id, s.device), options.copies);
    }
  }
  result_.leaves.insert(result_.leaves.end(), graph.leaves.begin(), graph.leaves.end());
  for (Split& s : splits_) {
    reorder(backends[size_t(s.device)], graph, s.nodes);
    for (const TensorId id : s.inputs) {
      const TensorId crossing = copy_of(id, s.device);
      // Keeps the original alive until it is copied.
      Tensor held;
      held.type = graph[id].type;
      held.ne = graph[id].ne;
      held.nb = graph[id].nb;
      held.base = graph[id].base == kNoTensor ? id : graph[id].base;
      held.offset = graph[id].offset;
      held.device = graph[id].device;
      held.source[0] = id;
      held.sources = 1;
      result_.nodes.push_back(graph.add_tensor(held));
      result_.nodes.push_back(crossing);
    }
    result_.nodes.insert(result_.nodes.end(), s.nodes.begin(), s.nodes.end());
  }
  result_.splits = int(splits_.size());
  return result_;
}

}  // namespace vramwise::engines::llamacpp
