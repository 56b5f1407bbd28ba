// Vulkan and Metal run the nodes of a split in another order than the graph's, so that independent
// ops overlap. The order decides what lives at the same time.
// Source: ggml-org/llama.cpp ggml/src/ggml-vulkan/ggml-vulkan.cpp, ggml_vk_graph_optimize;
// ggml/src/ggml-metal/ggml-metal-common.cpp.
#include <algorithm>
#include <initializer_list>
#include <span>

#include "engines/llamacpp/backend_profile.h"

namespace vramwise::engines::llamacpp {
namespace {

TensorId owner(const Graph& graph, TensorId id) {
  return graph[id].base == kNoTensor ? id : graph[id].base;
}

bool reads(const Graph& graph, TensorId user, TensorId source) {
  const Tensor& t = graph[user];
  return std::find(t.source.begin(), t.source.begin() + t.sources, source) !=
         t.source.begin() + t.sources;
}

bool no_work(Op op) { return is_view(op) || op == Op::none; }

// Expert routing, run as one kernel: these sequences stay together.
constexpr Op kSoftmaxNormalised[] = {Op::soft_max, Op::reshape, Op::argsort,  Op::view,
                                     Op::get_rows, Op::reshape, Op::sum_rows, Op::clamp,
                                     Op::div,      Op::reshape};
constexpr Op kSigmoidBiased[] = {Op::unary, Op::reshape,  Op::add,     Op::argsort,
                                 Op::view,  Op::get_rows, Op::reshape, Op::sum_rows,
                                 Op::clamp, Op::div,      Op::reshape};
constexpr Op kSoftmax[] = {Op::soft_max, Op::reshape, Op::argsort, Op::view, Op::get_rows};
constexpr Op kLateSoftmax[] = {Op::argsort, Op::view,     Op::get_rows,
                               Op::reshape, Op::soft_max, Op::reshape};
constexpr std::span<const Op> kRoutings[] = {kSoftmaxNormalised, kSigmoidBiased, kSoftmax,
                                             kLateSoftmax};

// Ops that the second may follow directly, because they run as one.
bool fusable(Op first, Op second) {
  switch (first) {
    case Op::rms_norm: return second == Op::mul;
    case Op::mul_mat: return second == Op::add;
    case Op::mul_mat_id: return second == Op::add_id || second == Op::mul;
    case Op::add: return second == Op::add;
    case Op::ssm_conv: return second == Op::add || second == Op::unary;
    default: return false;
  }
}

class VulkanOrder {
 public:
  VulkanOrder(const Graph& graph, const std::vector<TensorId>& nodes)
      : g_(graph), nodes_(nodes), used_(nodes.size(), 0), placed_(graph.size(), 0) {}

  std::vector<TensorId> run() {
    size_t first = 0;
    while (first < nodes_.size()) {
      const size_t length = routing_at(first);
      if (length > 0) {
        for (size_t i = first; i < first + length; ++i) place(i);
      } else {
        collect(first);
        for (const size_t i : set_) place(i);
      }
      while (first < nodes_.size() && used_[first]) ++first;
    }
    return std::move(order_);
  }

 private:
  static constexpr size_t kWindow = 20;

  const Tensor& node(size_t i) const { return g_[nodes_[i]]; }

  void place(size_t i) {
    order_.push_back(nodes_[i]);
    placed_[size_t(nodes_[i])] = 1;
    used_[i] = 1;
  }

  size_t routing_at(size_t i) const {
    for (const std::span<const Op> ops : kRoutings) {
      if (i + ops.size() > nodes_.size()) continue;
      bool match = true;
      for (size_t j = 0; j < ops.size() && match; ++j) {
        match = node(i + j).op == ops[j] && !used_[i + j];
      }
      if (match) return ops.size();
    }
    return 0;
  }

  bool depends(size_t later, size_t earlier) const {
    return reads(g_, nodes_[later], nodes_[earlier]) ||
           owner(g_, nodes_[later]) == owner(g_, nodes_[earlier]);
  }

  bool ready(TensorId id) const { return g_[id].op == Op::none || placed_[size_t(id)]; }

  // Ops that belong to the one just taken: norm, mul, rope, view, store; matmul, add, add; ...
  void take_followers(size_t j) {
    const size_t n = nodes_.size();
    const Tensor& t = node(j);
    const Op before = node(j - 1).op;
    size_t at = j;
    if (t.op == Op::mul && before == Op::rms_norm) {
      for (size_t k = j + 1; k < std::min(j + 15, n); ++k) {
        const Tensor& x = node(k);
        if (x.op == Op::rope && x.source[0] == nodes_[j] && g_[x.source[1]].op == Op::none &&
            (x.sources < 3 || g_[x.source[2]].op == Op::none)) {
          at = k;
          set_.push_back(k);
          used_[k] = 1;
          break;
        }
      }
    }
    if (node(at).op == Op::rope) {
      size_t shown = n, stored = n;
      for (size_t k = at + 1; k < std::min(at + 10, n); ++k) {
        const Tensor& x = node(k);
        if (shown == n && x.op == Op::view && x.source[0] == nodes_[at]) {
          shown = k;
          continue;
        }
        if (shown != n && x.op == Op::set_rows && x.source[0] == nodes_[shown]) {
          stored = k;
          break;
        }
      }
      if (stored != n) {
        set_.push_back(shown);
        set_.push_back(stored);
        used_[shown] = used_[stored] = 1;
      }
    }
    const auto follow = [&](Op first, Op second, Op third) {
      if (t.op != second || before != first) return;
      for (size_t k = j + 1; k < std::min(j + 15, n); ++k) {
        const Tensor& x = node(k);
        if (x.op == third && x.source[0] == nodes_[j] &&
            (third == Op::unary || ready(x.source[1]))) {
          set_.push_back(k);
          used_[k] = 1;
          break;
        }
      }
    };
    follow(Op::mul_mat_id, Op::add_id, Op::mul);
    follow(Op::mul_mat, Op::add, Op::add);
    follow(Op::ssm_conv, Op::add, Op::unary);
  }

  void collect(size_t first) {
    set_.assign(1, first);
    const size_t end = std::min(first + kWindow, nodes_.size());
    for (size_t j = first + 1; j < end; ++j) {
      if (used_[j] || no_work(node(j).op) || routing_at(j) > 0) continue;
      bool free = true;
      for (size_t c = first; c < j && free; ++c) {
        if (used_[c] || !depends(j, c)) continue;
        free = j == c + 1 && c == set_.back() && fusable(node(c).op, node(j).op);
      }
      if (!free) continue;
      set_.push_back(j);
      take_followers(j);
    }
    if (node(set_.back()).op == Op::add) return;
    for (size_t j = first + 1; j < end; ++j) {
      if (used_[j] || !no_work(node(j).op)) continue;
      bool free = true;
      for (size_t c = first; c < j && free; ++c) {
        const bool taken = used_[c] || std::find(set_.begin(), set_.end(), c) != set_.end();
        free = taken || !depends(j, c);
      }
      if (free) set_.push_back(j);
    }
  }

  const Graph& g_;
  const std::vector<TensorId>& nodes_;
  std::vector<char> used_, placed_;
  std::vector<size_t> set_;
  std::vector<TensorId> order_;
};

bool may_run_beside(Op op) {
  switch (op) {
    case Op::mul_mat:
    case Op::mul_mat_id:
    case Op::rope:
    case Op::norm:
    case Op::rms_norm:
    case Op::l2_norm:
    case Op::sum_rows:
    case Op::ssm_conv:
    case Op::ssm_scan:
    case Op::clamp:
    case Op::mul:
    case Op::add:
    case Op::sub:
    case Op::div:
    case Op::glu:
    case Op::scale:
    case Op::unary:
    case Op::get_rows:
    case Op::set_rows:
    case Op::cpy:
    case Op::cont:
    case Op::repeat: return true;
    default: return no_work(op);
  }
}

class MetalOrder {
 public:
  MetalOrder(const Graph& graph, const std::vector<TensorId>& nodes)
      : g_(graph), nodes_(nodes), uses_(graph.size(), 0) {
    for (const TensorId id : nodes) {
      const Tensor& t = g_[id];
      for (size_t i = 0; i < t.sources; ++i) ++uses_[size_t(t.source[i])];
    }
  }

  std::vector<TensorId> run() {
    make_groups();
    std::vector<TensorId> order;
    order.reserve(nodes_.size());
    std::vector<char> used(groups_.size(), 0);
    Touched since_barrier(g_.size()), skipped(g_.size());
    const auto place = [&](const Group& group) {
      order.insert(order.end(), nodes_.begin() + group.first,
                   nodes_.begin() + group.first + group.count);
    };
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (used[i]) continue;
      const Op op = g_[nodes_[size_t(groups_[i].first)]].op;
      if (!no_work(op) && !clear_of(since_barrier, groups_[i])) {
        skipped.clear();
        touch(skipped, groups_[i]);
        for (size_t j = i + 1; j < std::min(i + kAhead, groups_.size()); ++j) {
          if (used[j]) continue;
          const Op next = g_[nodes_[size_t(groups_[j].first)]].op;
          if (!may_run_beside(next)) break;
          if ((is_view(next) || clear_of(since_barrier, groups_[j])) &&
              clear_of(skipped, groups_[j])) {
            touch(since_barrier, groups_[j]);
            place(groups_[j]);
            used[j] = 1;
          } else {
            touch(skipped, groups_[j]);
          }
        }
        since_barrier.clear();
      }
      touch(since_barrier, groups_[i]);
      place(groups_[i]);
    }
    return order;
  }

 private:
  static constexpr size_t kAhead = 64;
  static constexpr int64_t kLongestGroup = 16;

  struct Group {
    int64_t first, count;
  };
  // Memory read and written, by the tensor that owns it.
  class Touched {
   public:
    explicit Touched(size_t n) : stamp_(n, {0, 0}) {}
    void clear() { ++now_; }
    void read(TensorId id) { stamp_[size_t(id)].first = now_; }
    void write(TensorId id) { stamp_[size_t(id)].second = now_; }
    bool was_read(TensorId id) const { return stamp_[size_t(id)].first == now_; }
    bool was_written(TensorId id) const { return stamp_[size_t(id)].second == now_; }

   private:
    std::vector<std::pair<uint32_t, uint32_t>> stamp_;
    uint32_t now_ = 1;
  };

  // Chains of add, mul and norm that run as one kernel.
  void make_groups() {
    const int64_t n = int64_t(nodes_.size());
    const auto chains = [](Op op) {
      return op == Op::add || op == Op::mul || op == Op::norm || op == Op::rms_norm;
    };
    for (int64_t i = 0; i < n;) {
      int64_t count = 1;
      const Op op = g_[nodes_[size_t(i)]].op;
      if (op == Op::add || op == Op::norm || op == Op::rms_norm) {
        int64_t end = i + 1;
        while (end < n && end < i + kLongestGroup && chains(g_[nodes_[size_t(end)]].op)) ++end;
        for (int64_t length = end - i; length > 1; --length) {
          if (is_chain(i, length)) {
            count = length;
            break;
          }
        }
      }
      groups_.push_back({i, count});
      i += count;
    }
  }

  bool is_chain(int64_t first, int64_t length) const {
    for (int64_t k = 0; k < length; ++k) {
      const TensorId id = nodes_[size_t(first + k)];
      const Tensor& t = g_[id];
      if (k + 1 < length && (uses_[size_t(id)] != 1 || t.output)) return false;
      if (k == 0) continue;
      const TensorId before = nodes_[size_t(first + k - 1)];
      const bool fed =
          (t.sources > 0 && t.source[0] == before) || (t.sources > 1 && t.source[1] == before);
      if (!fed || t.ne != g_[before].ne) return false;
    }
    return true;
  }

  void touch(Touched& touched, const Group& group) const {
    for (int64_t k = 0; k < group.count; ++k) {
      const Tensor& t = g_[nodes_[size_t(group.first + k)]];
      for (size_t i = 0; i < t.sources; ++i) touched.read(owner(g_, t.source[i]));
    }
    touched.write(owner(g_, nodes_[size_t(group.first + group.count - 1)]));
  }

  bool clear_of(const Touched& touched, const Group& group) const {
    for (int64_t k = 0; k < group.count; ++k) {
      const Tensor& t = g_[nodes_[size_t(group.first + k)]];
      for (size_t i = 0; i < t.sources; ++i) {
        if (touched.was_written(owner(g_, t.source[i]))) return false;
      }
    }
    const TensorId result = owner(g_, nodes_[size_t(group.first + group.count - 1)]);
    return !touched.was_read(result) && !touched.was_written(result);
  }

  const Graph& g_;
  const std::vector<TensorId>& nodes_;
  std::vector<uint32_t> uses_;
  std::vector<Group> groups_;
};

}  // namespace

void vulkan_order(const Graph& graph, std::vector<TensorId>& nodes) {
  nodes = VulkanOrder(graph, nodes).run();
}

void metal_order(const Graph& graph, std::vector<TensorId>& nodes) {
  nodes = MetalOrder(graph, nodes).run();
}

}  // namespace vramwise::engines::llamacpp
