#include "engines/llamacpp/fold.h"

#include <algorithm>
#include <array>

namespace vramwise::engines::llamacpp {
namespace {

constexpr size_t kLongestPattern = 16;

// Layers that read another's cache, the first layer's values (RWKV-7) or a slice of a tensor made
// for all layers are no pattern.
bool stands_alone(const Shape& shape) {
  if (shape.per_layer.width > 0 || shape.per_layer.streams > 0) return false;
  for (size_t i = 0; i < shape.layers.size(); ++i) {
    const LayerShape& l = shape.layers[i];
    if (l.cache_of >= 0 && l.cache_of != int32_t(i)) return false;
    if (l.mixer == MixerKind::rwkv) return false;
  }
  return true;
}

// The slots that the file fills: a dozen of all there are.
std::vector<Slot> used_slots(const Shape& shape) {
  std::array<bool, kSlots + 1> used{};
  for (const FileTensor& t : shape.file) used[size_t(t.slot)] = true;
  std::vector<Slot> slots;
  for (size_t s = 0; s < kSlots; ++s) {
    if (used[s] || shape.file.empty()) slots.push_back(Slot(s));
  }
  return slots;
}

bool same_weights(const GraphInput& in, const std::vector<Slot>& used, size_t a, size_t b) {
  for (const Slot s : used) {
    const WeightTable::Entry& x = in.weights->at(s, int64_t(a));
    const WeightTable::Entry& y = in.weights->at(s, int64_t(b));
    if (x.present != y.present || x.device != y.device) return false;
    // What lies on the host may be copied over, in its type.
    if (x.present && x.device == in.cpu && x.type != y.type) return false;
  }
  return true;
}

bool alike(const GraphInput& in, const std::vector<Slot>& used, size_t a, size_t b) {
  if (in.layer_device[a] != in.layer_device[b]) return false;
  const LayerShape& x = in.shape->layers[a];
  const LayerShape& y = in.shape->layers[b];
  if (x.cache_of >= 0 && y.cache_of >= 0 && x.cache_of != y.cache_of) {
    LayerShape moved = y;
    moved.cache_of = x.cache_of;
    if (moved != x) return false;
  } else if (x != y) {
    return false;
  }
  return same_weights(in, used, a, b);
}

// A number for each kind of trunk layer.
std::vector<size_t> kinds_of(const GraphInput& in, size_t layers) {
  const std::vector<Slot> used = used_slots(*in.shape);
  std::vector<size_t> kinds, first;
  for (size_t i = 0; i < layers; ++i) {
    const auto known =
        std::find_if(first.begin(), first.end(), [&](size_t f) { return alike(in, used, f, i); });
    kinds.push_back(size_t(known - first.begin()));
    if (known == first.end()) first.push_back(i);
  }
  return kinds;
}

}  // namespace

bool FoldedModel::fold(const GraphInput& whole, size_t rounds, size_t placement) {
  if (whole.settings.draft_head) return false;
  if (placement == 0 || placement != placement_ || rounds != rounds_) {
    folds_ = fold_anew(whole, rounds);
    placement_ = placement;
    rounds_ = rounds;
  }
  if (!folds_) return false;
  input_ = whole;
  input_.shape = &shape_;
  input_.weights = &weights_;
  input_.layer_device = layer_device_;
  return true;
}

bool FoldedModel::fold_anew(const GraphInput& whole, size_t rounds) {
  const Shape& shape = *whole.shape;
  if (!stands_alone(shape)) return false;
  const size_t layers = size_t(std::max<int64_t>(0, shape.trunk_layers));
  const std::vector<size_t> kinds = kinds_of(whole, layers);
  std::vector<size_t> kept;
  for (size_t at = 0; at < layers;) {
    // The pattern from here on that leaves out most.
    size_t best_length = 0, best_period = 0, best_gain = 0;
    for (size_t period = 1; period <= kLongestPattern; ++period) {
      size_t end = at + period;
      while (end < layers && kinds[end] == kinds[end - period]) ++end;
      if (end > layers) break;
      const size_t found = (end - at) / period;
      if (found <= rounds) continue;
      const size_t gain = (found - rounds) * period;
      if (gain > best_gain) {
        best_gain = gain;
        best_period = period;
        best_length = end - at;
      }
    }
    if (best_gain == 0) {
      kept.push_back(at++);
      continue;
    }
    for (size_t i = 0; i < rounds * best_period; ++i) kept.push_back(at + i);
    // What is left of a round stays, so that the next layers meet what they met.
    for (size_t i = rounds * best_period + best_gain; i < best_length; ++i) kept.push_back(at + i);
    at += best_length;
  }
  if (kept.size() == layers) return false;
  for (size_t i = layers; i < shape.layers.size(); ++i) kept.push_back(i);
  keep(whole, kept);
  return true;
}

void FoldedModel::keep(const GraphInput& whole, const std::vector<size_t>& kept) {
  const Shape& shape = *whole.shape;
  const int64_t left_out = int64_t(shape.layers.size() - kept.size());
  shape_ = shape;
  shape_.file.clear();
  shape_.trunk_layers -= left_out;
  shape_.layers.clear();
  layer_device_.clear();
  weights_.reset(kept.size());
  const auto copy_row = [&](int64_t from, int64_t to) {
    for (size_t s = 0; s < kSlots; ++s) weights_.at(Slot(s), to) = whole.weights->at(Slot(s), from);
  };
  copy_row(-1, -1);
  for (const size_t from : kept) {
    const int32_t to = int32_t(shape_.layers.size());
    copy_row(int64_t(from), to);
    layer_device_.push_back(whole.layer_device[from]);
    shape_.layers.push_back(shape.layers[from]);
    if (shape_.layers.back().cache_of >= 0) shape_.layers.back().cache_of = to;
  }
}

}  // namespace vramwise::engines::llamacpp
