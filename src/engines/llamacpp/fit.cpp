#include "engines/llamacpp/fit.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"

namespace vramwise::engines::llamacpp {
namespace {

// What of the first partial layer of a device stays there. Source: common/fit.cpp.
enum class Kept { attention, up, up_and_gate, all_but_experts };

// One device's layers: so many, of which the last `partial` without all of their experts.
struct Share {
  int64_t layers = 0, partial = 0;
  Kept first = Kept::all_but_experts;
  int16_t overflow = -1;  // where the rest of the first partial layer goes; -1 = the CPU
  int64_t whole() const { return layers - partial; }
};

std::string overflow_pattern(int64_t layer, Kept kept) {
  const std::string stem = "blk\\." + format_integer(layer) + "\\.ffn_";
  switch (kept) {
    case Kept::attention: return stem + "(gate|up|gate_up|down).*";
    case Kept::up: return stem + "(gate|gate_up|down).*";
    case Kept::up_and_gate: return stem + "down.*";
    case Kept::all_but_experts: return stem + "(up|down|gate_up|gate)_(ch|)exps";
  }
  return stem;
}

// a * b / c rounded toward zero, without overflow in between (128 bits).
int64_t multiply_divide(int64_t a, int64_t b, int64_t c) {
  __extension__ using Wide = __int128;
  return int64_t(Wide(a) * b / c);
}

class Fitter {
 public:
  Fitter(Budgeter& budgeter, const ContextSettings& context, const PlacementSettings& placement,
         const FitQuestion& question, const Budget* measured)
      : budgeter_(budgeter),
        measured_(measured),
        context_(context),
        base_(placement),
        question_(question),
        devices_(budgeter.devices()),
        layers_(int64_t(budgeter.shape().layers.size())) {
    answer_.placement = placement;
  }

  FitAnswer run() {
    streams_ = context_.unified ? 1 : std::max<int64_t>(1, context_.sequences);
    most_ctx_ = saturating_multiply(budgeter_.shape().train_ctx, streams_);
    if (question_.ctx_open) context_.n_ctx = most_ctx_;
    const bool known = measured_ != nullptr && !question_.ctx_open;
    full_ = device_bytes(known ? *measured_ : budgeter_.measure(context_, base_, Pass::measured));
    for (size_t i = 0; i < question_.free.size(); ++i) {
      targets_.push_back(question_.free[i].count() - question_.margin[i].count());
    }
    answer_.n_ctx = context_.n_ctx;
    if (holds(full_)) return answer_;
    answer_.changed = true;
    if (reduce_context()) return answer_;
    if (devices_ == 0 || !question_.layers_open) {
      answer_.failed = true;
      answer_.changed = question_.ctx_open;
      return answer_;
    }
    for (const LayerShape& l : budgeter_.shape().layers) moe_ |= l.moe.experts > 0;
    fill_from_the_back();
    if (moe_ && experts_worth_placing_) convert_from_the_front();
    write_shares();
    return answer_;
  }

 private:
  using Sizes = std::vector<int64_t>;

  // Of the devices; without any, of the host.
  Sizes device_bytes(const Budget& b) const {
    Sizes sizes;
    for (size_t d = 0; d < std::max<size_t>(1, devices_); ++d) sizes.push_back(b.total(d));
    return sizes;
  }

  bool holds(const Sizes& used) const {
    for (size_t i = 0; i < targets_.size(); ++i) {
      if (used[i] > targets_[i]) return false;
    }
    return true;
  }

  static int64_t sum(const Sizes& sizes) {
    int64_t total = 0;
    for (const int64_t s : sizes) total = saturating_add(total, s);
    return total;
  }

  // True when that alone does it.
  bool reduce_context() {
    const int64_t surplus = sum(targets_) - sum(full_);
    if (surplus >= 0 || !question_.ctx_open) return false;
    const int64_t smallest = saturating_multiply(question_.smallest_ctx, streams_);
    if (most_ctx_ <= smallest) return false;
    int64_t target = sum(targets_);
    if (devices_ > 1) {
      // Whole layers only: some room is wasted on every device.
      const Budget all = budgeter_.measure(context_, base_, Pass::measured);
      int64_t model = 0;
      for (size_t d = 0; d < devices_; ++d) model = saturating_add(model, all.model[d]);
      bool experts = false;
      for (const LayerShape& l : budgeter_.shape().layers) experts |= l.moe.experts > 0;
      target -= int64_t(devices_ + 1) * (model / std::max<int64_t>(1, layers_)) / (experts ? 6 : 2);
    }
    context_.n_ctx = smallest;
    const int64_t least = sum(device_bytes(budgeter_.measure(context_, base_, Pass::measured)));
    const int64_t most = sum(full_);
    if (target > least && most > least) {
      // Linear between the two.
      int64_t n_ctx =
          smallest + multiply_divide(most_ctx_ - smallest, target - least, most - least);
      const int64_t step = 256 * streams_;
      n_ctx = std::max(n_ctx - n_ctx % step, smallest);
      context_.n_ctx = answer_.n_ctx = n_ctx;
      return devices_ <= 1;
    }
    answer_.n_ctx = smallest;
    return false;
  }

  PlacementSettings settings_of(const std::vector<Share>& shares,
                                std::vector<std::string>* patterns = nullptr) const {
    PlacementSettings p = base_;
    p.n_gpu_layers = 0;
    p.tensor_split.clear();
    for (const Share& s : shares) {
      p.n_gpu_layers += s.layers;
      p.tensor_split.push_back(double(s.layers));
    }
    int64_t layer = layers_ + 1 - p.n_gpu_layers;
    for (const Share& s : shares) {
      layer += s.whole();
      for (int64_t i = layer; i < layer + s.partial; ++i) {
        const bool first = i == layer;
        const std::string text = overflow_pattern(i, first ? s.first : Kept::all_but_experts);
        const int16_t device = first && s.overflow >= 0 ? s.overflow : int16_t(devices_);
        if (patterns != nullptr) {
          patterns->push_back(text + "=" + budgeter_.backends()[size_t(device)].name);
        }
        auto pattern = Pattern::compile(text);
        if (pattern) p.overrides.push_back({std::move(*pattern), device});
      }
      layer += s.partial;
    }
    return p;
  }

  Sizes try_shares(const std::vector<Share>& shares) {
    return device_bytes(budgeter_.measure(context_, settings_of(shares), Pass::measured));
  }

  // Next guess between a share that fits and one that does not, `delta` layers apart.
  int64_t step_between(int64_t delta, int64_t low, int64_t high, int64_t target) const {
    const int64_t headroom = high - low;
    const int64_t guess = headroom > 0 ? multiply_divide(delta, target - low, headroom) : delta - 1;
    return std::clamp<int64_t>(guess, 1, delta - 1);
  }

  // Layers in whole, experts aside, as many as the last device holds, then the one before it …
  void fill_from_the_back() {
    if (moe_) {
      PlacementSettings dense = base_;
      dense.cpu_moe_layers = -1;
      experts_worth_placing_ =
          sum(targets_) > sum(device_bytes(budgeter_.measure(context_, dense, Pass::measured)));
    }
    shares_.assign(devices_, {});
    used_ = try_shares(shares_);
    for (size_t step = 0; step < devices_; ++step) {
      const size_t d = devices_ - 1 - step;
      const bool last = d + 1 == devices_;
      int64_t open = layers_ + 1;
      for (size_t other = d + 1; other < devices_; ++other) open -= shares_[other].layers;
      if (open <= 0) continue;
      std::vector<Share> high = shares_;
      high[d].layers = open;
      if (moe_) high[d].partial = last ? open - 1 : open;  // the output has no experts
      Sizes high_used = try_shares(high);
      if (high_used[d] <= targets_[d]) {
        shares_ = high;
        used_ = high_used;
        continue;
      }
      int64_t delta = high[d].layers - shares_[d].layers;
      while (delta > 1) {
        const int64_t more = step_between(delta, used_[d], high_used[d], targets_[d]);
        std::vector<Share> test = shares_;
        test[d].layers += more;
        if (moe_) test[d].partial += last && test[d].partial == 0 ? more - 1 : more;
        const Sizes test_used = try_shares(test);
        if (test_used[d] <= targets_[d]) {
          shares_ = test;
          used_ = test_used;
        } else {
          high = test;
          high_used = test_used;
        }
        delta = high[d].layers - shares_[d].layers;
      }
    }
  }

  bool fits_with_next(const Sizes& used, size_t d) const {
    return used[d] < targets_[d] && (d + 1 == devices_ || used[d + 1] < targets_[d + 1]);
  }

  // Everything but experts is placed: give the devices their experts, front first.
  void convert_from_the_front() {
    size_t dense_from = devices_;
    for (size_t step = 0; step < devices_; ++step) {
      const size_t d = devices_ - 1 - step;
      if (shares_[d].layers == 0) break;
      dense_from = d;
    }
    for (size_t d = 0; d <= dense_from && dense_from < devices_; ++d) {
      std::vector<Share> high = shares_;
      for (size_t other = dense_from; other < devices_; ++other) {
        const int64_t moved = other + 1 < devices_ ? high[other].layers : high[other].layers - 1;
        high[d].layers += moved;
        high[other].layers -= moved;
        high[other].partial = 0;
      }
      Sizes high_used = try_shares(high);
      if (high_used[d] <= targets_[d]) {
        shares_ = high;
        used_ = high_used;
        dense_from = devices_ - 1;
      } else {
        int64_t delta = high[d].whole() - shares_[d].whole();
        while (delta > 1) {
          const int64_t more = step_between(delta, used_[d], high_used[d], targets_[d]);
          std::vector<Share> test = shares_;
          size_t from = dense_from;
          int64_t converted = 0;
          for (; from < devices_; ++from) {
            const int64_t here = std::min(more - converted, test[from].partial);
            test[from].layers -= here;
            test[from].partial -= here;
            test[d].layers += here;
            converted += here;
            if (test[from].partial > 0) break;
          }
          const Sizes test_used = try_shares(test);
          if (test_used[d] <= targets_[d]) {
            shares_ = test;
            used_ = test_used;
            dense_from = from;
          } else {
            high = test;
            high_used = test_used;
          }
          delta = high[d].whole() - shares_[d].whole();
        }
      }
      part_of_one_more(d, dense_from);
    }
  }

  // A part of the next layer, the rest of it on the next device or the CPU.
  void part_of_one_more(size_t d, size_t& dense_from) {
    if (dense_from >= devices_) return;
    if (shares_[dense_from].layers <= (d + 1 < devices_ ? 0 : 1)) return;
    std::vector<Share> test = shares_;
    size_t from = dense_from;
    --test[from].layers;
    --test[from].partial;
    ++test[d].layers;
    ++test[d].partial;
    if (test[from].partial == 0) ++from;
    if (d + 1 < devices_) test[d].overflow = int16_t(d + 1);
    const auto accept = [&](Kept kept) {
      test[d].first = kept;
      const Sizes used = try_shares(test);
      if (!fits_with_next(used, d)) return false;
      shares_ = test;
      used_ = used;
      dense_from = from;
      return true;
    };
    if (accept(Kept::up)) {
      accept(Kept::up_and_gate);
    } else {
      accept(Kept::attention);
    }
  }

  void write_shares() {
    answer_.placement = settings_of(shares_, &answer_.overrides);
    answer_.n_gpu_layers = answer_.placement.n_gpu_layers;
    if (devices_ > 1) answer_.tensor_split = answer_.placement.tensor_split;
  }

  Budgeter& budgeter_;
  const Budget* measured_;
  ContextSettings context_;
  const PlacementSettings& base_;
  const FitQuestion& question_;
  const size_t devices_;
  const int64_t layers_;
  int64_t streams_ = 1, most_ctx_ = 0;
  bool moe_ = false, experts_worth_placing_ = false;
  Sizes targets_, full_, used_;
  std::vector<Share> shares_;
  FitAnswer answer_;
};

}  // namespace

FitAnswer run_fit(Budgeter& budgeter, const ContextSettings& context,
                  const PlacementSettings& placement, const FitQuestion& question,
                  const Budget* measured) {
  return Fitter(budgeter, context, placement, question, measured).run();
}

}  // namespace vramwise::engines::llamacpp
