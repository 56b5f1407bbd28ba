#include "engines/parallel.h"

#include <algorithm>
#include <variant>

#include "base/checked.h"
#include "base/text.h"

namespace vramwise::engines {

std::string label_of(const model::Model& model, const Parallel& parallel) {
  std::string label;
  const auto add = [&](std::string_view letters, int64_t size) {
    label += (label.empty() ? "" : " x ") + std::string(letters) + format_integer(size);
  };
  if (parallel.data > 1) add("DP", parallel.data);
  if (parallel.tensor > 1 || parallel.data == 1) add("TP", parallel.tensor);
  if (parallel.pipeline > 1) add("PP", parallel.pipeline);
  if (parallel.experts) label += " + EP";
  const int64_t copies = cache_copies(model, parallel.tensor);
  if (copies > 1) label += ", KV x" + format_integer(copies);
  return label;
}

int64_t cache_copies(const model::Model& model, int64_t tensor) {
  int64_t copies = 1;
  for (const model::Layer& layer : model.layers) {
    for (const model::Mixer& mixer : layer.mixers) {
      if (const auto* block = std::get_if<model::AttentionBlock>(&mixer)) {
        if (block->kv_heads > 0) copies = std::max(copies, tensor / block->kv_heads);
      } else if (std::holds_alternative<model::LatentBlock>(mixer)) {
        copies = std::max(copies, tensor);
      }
    }
  }
  return copies;
}

int64_t fewest_experts(const model::Model& model) {
  int64_t fewest = 0;
  for (const model::Layer& layer : model.layers) {
    const auto* moe = std::get_if<model::MoeFeedForward>(&layer.feed_forward);
    if (moe != nullptr && (fewest == 0 || moe->experts < fewest)) fewest = moe->experts;
  }
  return fewest;
}

HeadSplit split_heads(const model::Model& model, int64_t ranks) {
  for (const model::Layer& layer : model.layers) {
    for (const model::Mixer& mixer : layer.mixers) {
      const auto* a = std::get_if<model::AttentionBlock>(&mixer);
      const auto* l = std::get_if<model::LatentBlock>(&mixer);
      const int64_t heads = a ? a->query_heads : l ? l->query_heads : 0;
      if (heads % ranks != 0) return {false, heads, false};
      const int64_t kv = a ? a->kv_heads : 0;
      if (kv > 0 && kv % ranks != 0 && ranks % kv != 0) return {false, kv, true};
    }
  }
  return {};
}

int64_t cards_asked(const Options& options, std::span<const std::string_view> names) {
  constexpr int64_t kMost = 4096;  // no line means more
  int64_t product = 1;
  bool any = false;
  for (const std::string_view name : names) {
    const auto size = options.integer(name, 1, kMost);
    if (!size || !*size) continue;
    any = true;
    product = saturating_multiply(product, **size);
  }
  return any ? std::min(product, kMost) : 0;
}

std::vector<Layout> tensor_layouts(const Question& question, int devices, std::string_view tensor,
                                   std::string_view experts,
                                   std::span<const std::string_view> others) {
  const Options& options = question.settings.options;
  const bool asked = options.has(tensor) || options.has(experts) ||
                     std::any_of(others.begin(), others.end(),
                                 [&](std::string_view name) { return options.has(name); });
  if (devices == 1 || asked) return {{}};
  if (!split_heads(*question.model, devices).divides) return {};
  const auto layout = [&](bool share_out) {
    Layout l;
    l.label = label_of(*question.model, {.tensor = devices, .experts = share_out});
    l.options.emplace_back(tensor, json::Value(devices));
    if (share_out) l.options.emplace_back(experts, json::Value(devices));
    return l;
  };
  std::vector<Layout> list = {layout(false)};
  if (fewest_experts(*question.model) >= devices) list.push_back(layout(true));
  return list;
}

BlockSplit split_expert_blocks(const model::Model& model, const weights::Weights& weights,
                               int64_t ranks) {
  if (ranks <= 1 || !weights.recipe) return {};
  for (size_t i = 0; i < model.tensors.size(); ++i) {
    const model::Tensor& t = model.tensors[i];
    const bool fused = t.role == model::Role::expert_fused_gate_up;
    if (!fused && t.role != model::Role::expert_gate && t.role != model::Role::expert_up) continue;
    const weights::Scheme& scheme = weights.recipe->scheme(i);
    if (scheme.kind != weights::SchemeKind::fp8_block || t.shape.rank < 2) continue;
    const int64_t whole = t.shape[t.shape.rank - 2] / (fused ? 2 : 1);
    const int64_t width = whole / ranks;
    if (width % scheme.block_out != 0) return {false, width, scheme.block_out};
  }
  return {};
}

}  // namespace vramwise::engines
