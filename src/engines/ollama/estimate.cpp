#include "engines/ollama/estimate.h"

#include <algorithm>

#include "base/checked.h"

namespace vramwise::engines::ollama {
namespace {

// The search as the program makes it, GPU by GPU.
class Search {
 public:
  Search(const EstimateModel& model, const std::vector<EstimateGpu>& gpus, bool metal,
         const Release& release)
      : m_(model), gpus_(gpus), release_(release) {
    partial_ = m_.graph_partial;
    full_ = m_.graph_full;
    if (metal) {
      partial_ = full_;
    } else if (gpus.size() > 1) {
      full_ = partial_;  // more than one GPU always has the partial graph
    }
    e_.split.assign(gpus.size(), 0);
    e_.allocated.assign(gpus.size(), 0);
  }

  Estimate run() {
    choose_gpus();
    place_layers();
    place_output();
    const bool whole = e_.layers >= int64_t(m_.layers.size()) && !output_left_;
    for (size_t i = 0; i < gpus_.size(); ++i) {
      if (e_.split[i] > 0) add(e_.allocated[i], whole ? full_ : partial_);
      add(e_.on_gpus, e_.allocated[i]);
    }
    e_.required = saturating_add(e_.on_gpus, overflow_);
    e_.graph_full = full_;
    e_.graph_partial = partial_;
    return e_;
  }

 private:
  static void add(int64_t& to, int64_t bytes) { to = saturating_add(to, bytes); }
  int64_t graph() const { return std::max(partial_, full_); }
  int64_t layer(size_t i) const { return saturating_add(m_.layers[i], m_.caches[i]); }
  bool has_room(size_t gpu, int64_t bytes) const {
    const int64_t used = saturating_add(e_.allocated[gpu], graph());
    return gpus_[gpu].free > saturating_add(m_.overhead, saturating_add(used, bytes));
  }

  // Those that hold what is set aside, the graph, a reserve of one layer and one layer more.
  void choose_gpus() {
    const int64_t reserve =
        saturating_add(m_.buffer_layer, m_.caches.empty() ? 0 : m_.caches.front());
    for (size_t i = 0; i < gpus_.size(); ++i) {
      int64_t least = saturating_add(m_.overhead, room_.empty() ? m_.first_gpu : 0);
      add(least, graph());
      add(least, gpus_[i].minimum);
      add(least, saturating_multiply(2, reserve));
      if (gpus_[i].free < least) continue;
      room_.push_back(i);
      e_.allocated[i] = saturating_add(gpus_[i].minimum, reserve);
    }
    if (!room_.empty()) {
      add(e_.allocated[room_.front()], m_.first_gpu);
    } else if (release_.tower_with_output) {
      add(overflow_, m_.first_gpu);
    }
  }

  void place_layers() {
    const size_t count = m_.layers.size();
    for (size_t n = 0; n < count; ++n) {
      const size_t i = release_.last_layer_first ? count - 1 - n : n;
      if (m_.requested >= 0 && e_.layers >= m_.requested) {
        if (release_.last_layer_first) add(overflow_, layer(i));
        continue;
      }
      for (size_t left = room_.size(); left > 0; --left) {
        const size_t at = i % left;
        if (has_room(room_[at], layer(i))) {
          add(e_.allocated[room_[at]], layer(i));
          ++e_.split[room_[at]];
          ++e_.layers;
          break;
        }
        room_.erase(room_.begin() + std::ptrdiff_t(at));
      }
      if (release_.last_layer_first && room_.empty()) add(overflow_, layer(i));
    }
    if (release_.last_layer_first || count == 0) return;
    // What is left counts as so many times the last layer.
    for (size_t n = size_t(e_.layers); n < count; ++n) add(overflow_, layer(count - 1));
  }

  void place_output() {
    const int64_t last = saturating_add(m_.output, m_.beside_output);
    const bool open = m_.requested < 0 || e_.layers < m_.requested;
    if (last == 0 || (!open && !release_.tower_with_output)) return;
    const auto layers = int64_t(m_.layers.size());
    if (open) {
      for (size_t left = room_.size(); left > 0; --left) {
        const size_t gpu = room_[size_t(e_.layers) % left];
        if (!has_room(gpu, last)) continue;
        add(e_.allocated[gpu], last);
        ++e_.split[gpu];
        ++e_.layers;
        break;
      }
    }
    if (e_.layers < layers + 1) {
      output_left_ = true;
      add(overflow_, last);
    }
  }

  const EstimateModel& m_;
  const std::vector<EstimateGpu>& gpus_;
  const Release& release_;
  int64_t partial_ = 0, full_ = 0, overflow_ = 0;
  bool output_left_ = false;
  std::vector<size_t> room_;  // GPUs that still take layers
  Estimate e_;
};

}  // namespace

Estimate estimate_layers(const EstimateModel& model, const std::vector<EstimateGpu>& gpus,
                         bool metal, const Release& release) {
  return Search(model, gpus, metal, release).run();
}

}  // namespace vramwise::engines::ollama
