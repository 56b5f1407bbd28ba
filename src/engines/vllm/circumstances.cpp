#include "engines/vllm/circumstances.h"

#include <algorithm>

#include "base/text.h"
#include "engines/vllm/activations.h"

namespace vramwise::engines::vllm {
namespace {

// Decoder of attention and plain feed-forward layers alone.
bool is_dense(const model::Model& model) {
  for (const model::Layer& layer : model.layers) {
    if (std::holds_alternative<model::MoeFeedForward>(layer.feed_forward)) return false;
    for (const model::Mixer& mixer : layer.mixers) {
      if (!std::holds_alternative<model::AttentionBlock>(mixer)) return false;
    }
  }
  return true;
}

// What model runner 2 does not do falls back to runner 1.
// Source: vllm config/vllm.py _get_v2_model_runner_unsupported_features, as of 0.29.
bool suits_runner_2(const model::Model& model, const Given& given, bool nvidia) {
  if (given.speculation == Speculation::ngram || given.speculation == Speculation::draft_model ||
      given.fast_prefill || given.dual_batch) {
    return false;
  }
  const bool latest_deepseek = model.architecture == "DeepseekV32ForCausalLM" ||
                               model.architecture == "DeepseekV4ForCausalLM";
  return nvidia || !latest_deepseek;
}

// vLLM's own all-reduce is off on more than two such cards, and with it the buffers around it.
// Source: vllm distributed/device_communicators/custom_all_reduce.py.
bool joined_by_pcie_alone(const catalog::Gpu& gpu) {
  return starts_with(gpu.interconnect, "PCIe") && !contains(gpu.interconnect, "NVLink") &&
         !contains(gpu.interconnect, "bridge");
}

// NVLink through switches, as the multicast of FlashInfer's buffers needs; not a bridge of two
// cards, not the link to the host.
bool joined_by_switches(const catalog::Gpu& gpu) {
  return starts_with(gpu.interconnect, "NVLink") && !contains(gpu.interconnect, "C2C");
}

}  // namespace

Circumstances circumstances_of(const Question& q, const Given& given, std::string& card) {
  Circumstances now = circumstances(*q.hardware);
  now.ranks = given.tensor;
  now.eager = given.eager;
  now.staged = given.pipeline > 1;
  now.encoder = profiles_items(*q.model, given);
  now.entry = given.entry;
  now.marlin = given.marlin;
  now.own_all_reduce = given.own_all_reduce;
  now.flashinfer_sampler = given.flashinfer_sampler;
  now.runner = suits_runner_2(*q.model, given, now.nvidia) ? 2 : 1;
  now.dense = is_dense(*q.model);
  now.speculates = given.speculation != Speculation::none;
  now.pooling = pools(*q.model, given);
  now.architecture = q.model->architecture;
  now.quantised =
      !given.quantization.empty() || !q.weights->recipe || q.weights->recipe->schemes.size() > 1;
  if (!q.hardware->devices.empty()) {
    const catalog::Gpu& gpu = q.hardware->devices.front().gpu;
    card = to_lower(gpu.id + " " + gpu.name);
    if (given.tensor > 2 && joined_by_pcie_alone(gpu)) now.own_all_reduce = false;
    now.linked = !joined_by_pcie_alone(gpu);
    now.switched = joined_by_switches(gpu);
    // vLLM looks at the smallest card's total.
    for (const Device& device : q.hardware->devices) now.total = std::min(now.total, device.total);
  }
  now.card = card;
  return now;
}

}  // namespace vramwise::engines::vllm
