#include "engines/llamacpp/better.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/checked.h"
#include "base/sort.h"
#include "base/text.h"
#include "engines/llamacpp/reads.h"

namespace vramwise::engines::llamacpp {
namespace {

constexpr int kMostEvictions = 16;  // measurements until everything fits
constexpr int kMostReturns = 12;    // measurements until no more comes back

// What moves together: one matrix (or stack of experts) of a layer with its bias.
struct Unit {
  int32_t layer = 0;
  std::string kind;  // "ffn_up_exps"
  bool experts = false;
  int64_t bytes = 0, read = 0;
  int16_t home = 0;    // device of its layer
  int16_t device = 0;  // where it is put; the CPU after the devices
  bool refused = false;
};

class Packer {
 public:
  Packer(Budgeter& budgeter, const weights::GgufModel& gguf, const ContextSettings& context,
         const PlacementSettings& base, const std::vector<int64_t>& room)
      : budgeter_(budgeter), gguf_(gguf), context_(context), base_(base), room_(room) {
    base_.n_gpu_layers = PlacementSettings::kAll;
    cpu_ = int16_t(budgeter.devices());
  }

  std::optional<BetterPlacement> run() {
    Budget b = budgeter_.measure(context_, base_, Pass::real);
    collect(b.placement);
    for (int i = 0; !holds(b); ++i) {
      if (i == kMostEvictions || !evict(b)) return std::nullopt;
      b = measure();
    }
    for (int i = 0; i < kMostReturns; ++i) {
      const std::vector<Unit> before = units_;
      const size_t last = take_back(b);
      if (last == units_.size()) break;
      Budget more = measure();
      if (holds(more)) {
        b = std::move(more);
      } else {
        // Buffers grew with it: without the last one.
        units_ = before;
        units_[last].refused = true;
      }
    }
    BetterPlacement found;
    found.placement = settings(&found.overrides);
    found.budget = std::move(b);
    return found;
  }

 private:
  // Feed-forward matrices of the layers; what is small or read by all stays with its layer.
  void collect(const Placement& p) {
    const Shape& shape = budgeter_.shape();
    std::map<std::pair<int32_t, std::string>, Unit> found;
    for (size_t i = 0; i < gguf_.tensors.size(); ++i) {
      const weights::GgufTensor& t = gguf_.tensors[i];
      const FileTensor& f = shape.file[i];
      if (t.mtp || f.home != FileTensor::Home::layer || t.layer < 0) continue;
      if (size_t(t.layer) >= p.layer_device.size()) continue;
      const size_t from = t.name.find(".ffn_"), to = t.name.rfind('.');
      if (from == std::string::npos || to <= from) continue;
      const std::string kind = t.name.substr(from + 1, to - from - 1);
      if (contains(kind, "norm") || contains(kind, "gate_inp")) continue;
      Unit& u = found[{int32_t(t.layer), kind}];
      u.layer = int32_t(t.layer);
      u.kind = kind;
      u.experts = f.expert_stack;
      u.bytes = saturating_add(u.bytes, t.bytes().count());
      u.read = saturating_add(u.read, bytes_read(t, f, shape));
      u.home = u.device = p.layer_device[size_t(t.layer)];
    }
    for (auto& [key, unit] : found) units_.push_back(std::move(unit));
  }

  int64_t over(const Budget& b, size_t d) const { return b.total(d) - room_[d]; }

  bool holds(const Budget& b) const {
    for (size_t d = 0; d < room_.size(); ++d) {
      if (over(b, d) > 0) return false;
    }
    return true;
  }

  // Experts before dense matrices; of those the smallest that is enough, else the largest.
  size_t next_to_leave(int16_t device, int64_t bytes) const {
    size_t best = units_.size();
    for (size_t i = 0; i < units_.size(); ++i) {
      const Unit& u = units_[i];
      if (u.device != device) continue;
      if (best == units_.size()) {
        best = i;
        continue;
      }
      const Unit& now = units_[best];
      if (u.experts != now.experts) {
        if (u.experts) best = i;
        continue;
      }
      const bool enough = u.bytes >= bytes, enough_now = now.bytes >= bytes;
      const bool better = enough != enough_now ? enough
                          : enough             ? u.bytes < now.bytes
                                               : u.bytes > now.bytes;
      if (better) best = i;
    }
    return best;
  }

  // False when a device has nothing left to give.
  bool evict(const Budget& b) {
    for (size_t d = 0; d < room_.size(); ++d) {
      int64_t excess = over(b, d);
      while (excess > 0) {
        const size_t i = next_to_leave(int16_t(d), excess);
        if (i == units_.size()) return false;
        units_[i].device = cpu_;
        excess -= units_[i].bytes;
      }
    }
    return true;
  }

  // Puts what there is room for back on a device, the most read first. The last one put; none: the
  // number of units.
  size_t take_back(const Budget& b) {
    std::vector<int64_t> left;
    for (size_t d = 0; d < room_.size(); ++d) left.push_back(-over(b, d));
    std::vector<size_t> order;
    for (size_t i = 0; i < units_.size(); ++i) {
      if (units_[i].device == cpu_ && !units_[i].refused) order.push_back(i);
    }
    sort_stable(order, [&](size_t x, size_t y) {
      const Unit &a = units_[x], &c = units_[y];
      if (a.experts != c.experts) return c.experts;
      if (a.read != c.read) return a.read > c.read;
      return x < y;
    });
    size_t last = units_.size();
    for (const size_t i : order) {
      Unit& u = units_[i];
      size_t to = size_t(u.home);
      if (left[to] < u.bytes) {
        to = size_t(std::max_element(left.begin(), left.end()) - left.begin());
        if (left[to] < u.bytes) continue;
      }
      left[to] -= u.bytes;
      u.device = int16_t(to);
      last = i;
    }
    return last;
  }

  // One pattern for all layers that lack the same matrices.
  PlacementSettings settings(std::vector<std::string>* texts = nullptr) const {
    std::map<std::pair<int16_t, int32_t>, std::string> kinds;  // device, layer
    for (const Unit& u : units_) {
      if (u.device == u.home) continue;
      std::string& list = kinds[{u.device, u.layer}];
      if (!list.empty()) list += "|";
      list += u.kind;
    }
    std::map<std::pair<int16_t, std::string>, std::string> layers;
    for (const auto& [at, list] : kinds) {
      std::string& numbers = layers[{at.first, list}];
      if (!numbers.empty()) numbers += "|";
      numbers += format_integer(int64_t(at.second));
    }
    PlacementSettings p = base_;
    for (const auto& [what, numbers] : layers) {
      const std::string text = "blk\\.(" + numbers + ")\\.(" + what.second + ")\\.";
      auto pattern = Pattern::compile(text);
      if (!pattern) continue;
      p.overrides.push_back({std::move(*pattern), what.first});
      if (texts != nullptr) {
        texts->push_back(text + "=" + budgeter_.backends()[size_t(what.first)].name);
      }
    }
    return p;
  }

  Budget measure() { return budgeter_.measure(context_, settings(), Pass::real); }

  Budgeter& budgeter_;
  const weights::GgufModel& gguf_;
  const ContextSettings& context_;
  PlacementSettings base_;
  const std::vector<int64_t>& room_;
  int16_t cpu_ = 0;
  std::vector<Unit> units_;
};

}  // namespace

std::optional<BetterPlacement> find_better(Budgeter& budgeter, const weights::GgufModel& gguf,
                                           const ContextSettings& context,
                                           const PlacementSettings& base,
                                           const std::vector<int64_t>& room) {
  return Packer(budgeter, gguf, context, base, room).run();
}

}  // namespace vramwise::engines::llamacpp
