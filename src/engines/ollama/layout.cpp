#include "engines/ollama/layout.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "base/sort.h"

namespace vramwise::engines::ollama {
namespace {

// A share of a size in single precision, as the program computes it.
int64_t share_of(int64_t bytes, float share) { return int64_t(float(bytes) * share); }

struct Room {
  int gpu;
  int64_t free;
};

// From the last layer backwards, the last GPU first.
Layout fill(const std::vector<int64_t>& layers, const std::vector<Room>& gpus, float capacity,
            int64_t requested) {
  Layout layout;
  std::vector<int>& place = layout.gpu_of_layer;
  place.assign(layers.size(), -1);
  if (gpus.empty()) return layout;
  size_t device = gpus.size() - 1;
  layout.tried = {gpus[device].gpu};
  int64_t left = share_of(gpus[device].free, capacity);
  for (size_t n = 0; n < layers.size(); ++n) {
    if (requested >= 0 && int64_t(n) >= requested) break;
    const size_t i = layers.size() - 1 - n;
    while (layers[i] > left) {
      if (device == 0) return layout;
      left = share_of(gpus[--device].free, capacity);
      layout.tried.push_back(gpus[device].gpu);
    }
    place[i] = gpus[device].gpu;
    left -= layers[i];
  }
  return layout;
}

// The smallest share of every GPU that takes as many layers as the whole of them.
Layout best_fit(const std::vector<int64_t>& layers, const std::vector<Room>& gpus,
                int64_t requested, bool force) {
  float high = 1, low = 0;
  if (requested >= 0 && force) high = 1000;
  Layout best = fill(layers, gpus, high, requested);
  const int64_t most = best.on_gpus();
  while (high - low > 1e-6F) {
    const float middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;  // single precision is used up
    Layout tried = fill(layers, gpus, middle, requested);
    if (tried.on_gpus() == most) {
      high = middle;
      best = std::move(tried);
    } else {
      low = middle;
    }
  }
  return best;
}

}  // namespace

std::vector<int> Layout::order() const {
  std::vector<int> seen;
  for (const int gpu : gpu_of_layer) {
    if (gpu >= 0 && std::find(seen.begin(), seen.end(), gpu) == seen.end()) seen.push_back(gpu);
  }
  return seen;
}

int64_t Layout::on_gpus() const {
  return std::count_if(gpu_of_layer.begin(), gpu_of_layer.end(), [](int gpu) { return gpu >= 0; });
}

Layout lay_out(const LayoutQuestion& q, const std::vector<int64_t>& graphs) {
  // The GPU with most free memory first.
  std::vector<size_t> order(q.gpus.size());
  std::iota(order.begin(), order.end(), size_t{0});
  sort_stable(order, [&](size_t a, size_t b) { return q.gpus[a].free > q.gpus[b].free; });
  std::vector<Room> room;
  size_t last_used = 0;
  for (const size_t g : order) {
    const LayoutGpu& gpu = q.gpus[g];
    const int64_t graph = g < graphs.size() ? graphs[g] : 0;
    if (graph > 0) last_used = room.size();
    const int64_t taken = saturating_add(saturating_add(gpu.minimum, gpu.overhead), graph);
    room.push_back({int(g), gpu.free > taken ? gpu.free - taken : 0});
  }
  std::vector<int64_t> layers = q.layers;
  Layout layout;
  int64_t requested = q.requested;
  // Where not everything fits, layers other than the output come first.
  for (int attempt = 0; attempt < 2 && !layers.empty(); ++attempt) {
    requested = std::min(requested, int64_t(layers.size()));
    if (q.spread) {
      layout = best_fit(layers, room, requested, true);
    } else {
      for (size_t i = last_used; i < room.size(); ++i) {
        const std::vector<Room> used(room.begin(), room.begin() + std::ptrdiff_t(i) + 1);
        layout = best_fit(layers, used, requested, i + 1 == room.size());
        const int64_t count = layout.on_gpus();
        if (count == int64_t(layers.size()) || count == requested) break;
      }
    }
    if (layout.on_gpus() == int64_t(layers.size())) break;
    layers.pop_back();
  }
  layout.gpu_of_layer.resize(q.layers.size(), -1);
  return layout;
}

Layout settle_layout(const LayoutQuestion& q, const GraphsOf& graphs_of) {
  // Before anything is known, everything goes to the freest GPU.
  Layout layout;
  std::vector<Layout> seen;
  int freest = -1;
  for (size_t g = 0; g < q.gpus.size(); ++g) {
    if (freest < 0 || q.gpus[g].free > q.gpus[size_t(freest)].free) freest = int(g);
  }
  layout.gpu_of_layer.assign(q.layers.size(), freest);
  if (q.requested >= 0) {
    for (size_t i = 0; int64_t(i + size_t(q.requested)) < int64_t(q.layers.size()); ++i) {
      layout.gpu_of_layer[i] = -1;
    }
  }
  constexpr int kMostTrials = 64;  // every trial has a layer less, or ends it
  for (int trial = 0; trial < kMostTrials; ++trial) {
    const std::vector<int64_t> graphs = graphs_of(layout);
    seen.push_back(layout);
    Layout next = lay_out(q, graphs);
    const bool known = std::find(seen.begin(), seen.end(), next) != seen.end();
    if (!known && next.on_gpus() <= layout.on_gpus()) {
      layout = std::move(next);
      continue;
    }
    // Graphs that move off and on again: the numbers of layers in between are tried as well.
    if (q.requested < 0 && next.on_gpus() - layout.on_gpus() > 1) {
      LayoutQuestion forced = q;
      for (int64_t n = next.on_gpus() - 1; n >= layout.on_gpus(); --n) {
        forced.requested = n;
        const Layout between = lay_out(forced, graphs);
        if (between.on_gpus() <= lay_out(q, graphs_of(between)).on_gpus()) return between;
      }
    }
    return layout;
  }
  return layout;
}

Layout settle_layout(const LayoutQuestion& q, int64_t graph) {
  std::vector<int64_t> graphs(q.gpus.size(), 0);
  Layout layout;
  size_t used = 0;
  for (size_t round = 0; round <= q.gpus.size(); ++round) {
    layout = lay_out(q, graphs);
    if (layout.tried.size() <= used) break;
    used = layout.tried.size();
    for (const int gpu : layout.tried) graphs[size_t(gpu)] = graph;
  }
  return layout;
}

}  // namespace vramwise::engines::ollama
