#include "engines/vllm/budget.h"

#include <algorithm>

#include "base/text.h"
#include "engines/spread.h"

namespace vramwise::engines::vllm {
namespace {

ByteRange activation_range(const VllmActivations& a, const Profile& p) {
  Bytes bar = std::max({a.sampler * p.sampler_percent / 100, Bytes()});
  const Bytes serving = std::max({a.sampler, a.layer, a.encoder});
  if (a.layer == serving) {
    bar = a.layer * p.layer_percent / 100;
  } else if (a.encoder == serving) {
    bar = (a.encoder + a.outputs) * p.encoder_percent / 100;
  }
  bar += a.experts * p.expert_percent / 100;
  // Where another sampler may be installed, its smaller buffers, down to what the rest takes.
  const Bytes smaller =
      p.sampler_bytes > 0 ? a.sampler * p.sampler_low_bytes / p.sampler_bytes : a.sampler;
  const Bytes rest = std::max({smaller, a.layer, a.encoder});
  // A restart finds everything compiled.
  const Bytes compiled = std::max(Bytes(), a.compile - serving);
  const Bytes down = std::max(Bytes(), serving - rest) + compiled;
  return {a.peak - bar - down, a.peak, a.peak + std::max(Bytes(), bar - compiled)};
}

ByteRange percent_of(Bytes likely, int64_t low, int64_t middle, int64_t high) {
  return {likely * low / 100, likely * middle / 100, likely * high / 100};
}

ByteRange free_at_start(const Device& device, const ByteRange& gone) {
  const Bytes idle = device.free();
  return {idle - gone.high - device.total_uncertainty, idle - gone.likely,
          idle - gone.low + device.total_uncertainty};
}

// Notes of a family rule that leaves tensors out (a tower, tables) say so; the bar grows upwards.
bool leaves_tensors_out(const Notes& notes) {
  const auto tells = [](const Note& n) {
    return n.id == "tensors_unverified" || ends_with(n.id, "_not_modelled");
  };
  return std::any_of(notes.assumptions.begin(), notes.assumptions.end(), tells) ||
         std::any_of(notes.warnings.begin(), notes.warnings.end(), tells);
}

// Which matrices a 4-bit repository leaves in 16 bits, and in what groups the rest is, was taken
// from what such publishers usually do. AWQ and GPTQ as their tools write them leave no choice.
bool follows_habit(const Question& q) {
  const json::Value* assumed = q.model->quantization_config.find("assumed");
  if (!q.weights->from_files || assumed == nullptr || !q.weights->recipe) return false;
  const auto& schemes = q.weights->recipe->schemes;
  return std::any_of(schemes.begin(), schemes.end(), [](const weights::Scheme& s) {
    return s.kind == weights::SchemeKind::nvfp4 ||
           (s.kind == weights::SchemeKind::wna16 && s.bits == 4);
  });
}

// Four bits in words, which are packed anew for the kernels while they load.
bool has_packed_words(const Question& q) {
  if (!q.weights->recipe) return false;
  const auto& schemes = q.weights->recipe->schemes;
  return std::any_of(schemes.begin(), schemes.end(), [](const weights::Scheme& s) {
    using weights::SchemeKind;
    const bool words = s.kind == SchemeKind::gptq || s.kind == SchemeKind::wna16;
    return (words && s.bits <= 4) || s.kind == SchemeKind::awq || s.kind == SchemeKind::nvfp4 ||
           s.kind == SchemeKind::mxfp4 || s.kind == SchemeKind::w4a8_fp8;
  });
}

struct Doubts {
  bool unverified = false;  // tensors are left out
  bool habit = false;
  bool packed = false;
};

ByteRange weights_range(Bytes likely, const Profile& p, Doubts doubts) {
  const int64_t own = p.weights_per_mille;
  const int64_t down = doubts.habit ? std::max(own, p.habit_low_per_mille) : own;
  int64_t up = doubts.habit ? std::max(own, p.habit_high_per_mille) : own;
  if (doubts.unverified) up = std::max(up, p.unverified_per_mille);
  return {likely - likely * down / 1000, likely, likely + likely * up / 1000};
}

DeviceBudget device_budget(const Device& device, int index, const Build& b, const VllmPoint& point,
                           Doubts doubts, const Calibration* calibration) {
  DeviceBudget d;
  d.device = index;
  d.stage = &b.stage_of_device(index);
  d.total = device.total;
  d.totals = evaluate(d.stage->shape, point);
  const Profile& p = b.profile;
  d.weights = weights_range(d.totals.weights, p, doubts);
  d.weights.low -= d.stage->drafter.likely - d.stage->drafter.low;
  d.weights.high += d.stage->drafter.high - d.stage->drafter.likely;
  d.activations = activation_range(d.totals.activations, p);
  d.activations.high +=
      d.stage->shape.doubt_fixed + Bytes(d.stage->shape.doubt_per_token) * point.batch_tokens;
  d.non_torch = p.non_torch + ByteRange::exactly(d.totals.all_reduce + d.totals.sampler_state) +
                ByteRange{Bytes(), d.totals.compile_left, d.totals.compile_left};
  if (d.totals.graph_counts.all() > 0) {
    d.graphs = percent_of(d.totals.graphs, p.graph_low_percent, 100, p.graph_high_percent);
    // What the host takes meanwhile; the likely part is in the totals.
    const ByteRange& host = p.graph_host;
    d.graphs += ByteRange{host.low - host.likely, Bytes(), host.high - host.likely};
    d.graphs.low = std::max(d.graphs.low, Bytes());
    // Drivers decide what a graph takes, not what lies in the graphs' pool.
    const Bytes pool = graph_pool(d.stage->shape, d.totals.graph_counts);
    d.graphs_taken = percent_of(d.totals.graphs_taken - pool, p.graph_taken_low_percent, 100,
                                p.graph_taken_high_percent) +
                     percent_of(pool, p.graph_low_percent, 100, p.graph_high_percent);
    if (p.warm_up_freed)
      d.freed_by_capture = Bytes(d.stage->shape.layer_per_token) * point.batch_tokens;
  }
  if (const Calibration* measured = calibration) {
    const bool unified = device.gpu.unified_memory;
    if (measured->weights) d.weights = measured_range(d.weights, *measured->weights, unified);
    if (measured->activations) {
      d.activations = measured_range(d.activations, *measured->activations, unified);
    }
    if (measured->non_torch) {
      const Bytes shift = measured->non_torch->shift;
      d.non_torch += {shift, shift, shift};
      d.non_torch = measured_range(d.non_torch, *measured->non_torch, unified);
    }
    if (measured->graphs) d.graphs = measured_range(d.graphs, *measured->graphs, unified);
  }
  d.before_snapshot = p.before_snapshot;
  d.free_at_start = free_at_start(device, p.before_snapshot);
  d.available = ByteRange::exactly(d.totals.available);
  if (point.fixed_cache.count() == 0) {
    Spread spread;
    spread.add(d.weights);
    spread.add(d.activations);
    spread.add(d.non_torch);
    if (d.stage->shape.graphs_charged) spread.add(d.graphs);
    const Bytes share = requested_bytes(device.total_uncertainty, b.decided.utilisation);
    spread.add({-share, Bytes(), share});
    d.available.low -= spread.up();
    d.available.high += spread.down();
    // Quantised weights are loaded in one form and kept in another.
    if (b.given.weights_released && b.now.quantised)
      d.released = d.weights.likely *
                   (doubts.packed ? p.released_packed_per_mille : p.released_per_mille) / 1000;
    d.available.high += d.released;
  }
  if (point.fixed_blocks > 0 && b.profile.blocks_are_memory) {
    d.available = ByteRange::exactly(d.stage->shape.block_bytes * point.fixed_blocks);
  }
  return d;
}

int64_t blocks_in(Bytes available, const VllmShape& shape) {
  return std::max<int64_t>(0, available / shape.block_bytes);
}

}  // namespace

Budget budget_of(const Question& question, const Build& b) {
  Budget budget;
  const auto& devices = question.hardware->devices;
  const auto count = int(std::min<int64_t>(b.ranks_used, int64_t(devices.size())));
  budget.max_model_len = b.decided.max_model_len;
  const Doubts doubts{leaves_tensors_out(question.model->notes), follows_habit(question),
                      has_packed_words(question)};
  for (int i = 0; i < count; ++i) {
    const VllmPoint point = point_of(b, devices[size_t(i)].total);
    budget.devices.push_back(device_budget(devices[size_t(i)], i, b, point, doubts,
                                           question.settings.calibration.get()));
  }
  // The pool has as many blocks as the poorest device holds.
  bool first = true;
  for (size_t i = 0; i < budget.devices.size(); ++i) {
    const DeviceBudget& d = budget.devices[i];
    const VllmShape& shape = d.stage->shape;
    const bool fewer =
        d.totals.blocks < budget.blocks ||
        (d.totals.blocks == budget.blocks && d.available.likely < budget.full().available.likely);
    if (first || fewer) {
      budget.fullest = int(i);
      budget.blocks = d.totals.blocks;
    }
    int64_t low = blocks_in(d.available.low, shape), high = blocks_in(d.available.high, shape);
    if (b.given.cache_blocks) low = high = *b.given.cache_blocks;
    budget.blocks_low = first ? low : std::min(budget.blocks_low, low);
    budget.blocks_high = first ? high : std::min(budget.blocks_high, high);
    first = false;
  }
  if (b.given.fit_length && !budget.devices.empty()) {
    for (const DeviceBudget& d : budget.devices) {
      budget.max_model_len = std::min(
          budget.max_model_len, longest_request(b.asked_of(*d.stage), d.available.likely,
                                                b.decided.max_model_len, b.decided.batch_tokens));
    }
  }
  return budget;
}

}  // namespace vramwise::engines::vllm
