#include "engines/rank_draft.h"

#include <algorithm>

#include "base/text.h"

namespace vramwise::engines {
namespace {

ByteRange model_weights(const DraftModel& draft, int64_t ranks, const LoadRules& load) {
  RankLayout layout;
  layout.tensor = layout.attention = layout.expert_tensor = std::max<int64_t>(1, ranks);
  layout.end_layer = int64_t(draft.model->layers.size());
  LoadRules rules = load;
  rules.online.reset();  // flags that quantise while loading are the target's
  rules.mtp_layers = 0;
  rules.lora_slots = 0;
  rules.towers = false;
  return ByteRange::exactly(rank_weights(*draft.model, *draft.weights, layout, rules).total());
}

// Heads cache like the target's widest layer that keeps every token.
std::vector<LayerCache> head_caches(const std::vector<LayerCache>& target, int64_t layers,
                                    int32_t first) {
  const LayerCache* widest = nullptr;
  for (const LayerCache& c : target) {
    const bool keeps_all = c.kind == LayerCache::Kind::full || c.kind == LayerCache::Kind::latent;
    if (keeps_all && (widest == nullptr || c.token_bytes > widest->token_bytes)) widest = &c;
  }
  std::vector<LayerCache> caches;
  if (widest == nullptr) return caches;
  for (int64_t i = 0; i < layers; ++i) {
    caches.push_back(*widest);
    caches.back().layer = first + int32_t(i);
  }
  return caches;
}

}  // namespace

RankDraft rank_draft(const Question& q, HeadKind kind, int64_t ranks, const LoadRules& load,
                     const CacheRules& cache, const std::vector<LayerCache>& target_caches,
                     Notes& notes) {
  RankDraft draft;
  const auto first = int32_t(q.model->layers.size());
  if (kind == HeadKind::none) {
    if (!q.draft.given()) {
      notes.warn(
          "drafter_unknown",
          "the draft model's weights and cache are not counted: its shape is not known; give "
          "its config or its catalog name as `draft` (--draft)");
      return draft;
    }
    draft.known = true;
    draft.weights = model_weights(q.draft, ranks, load);
    draft.caches = rank_caches(*q.draft.model, cache, 0);
    for (LayerCache& c : draft.caches) c.layer += first;
    return draft;
  }
  // A head's own config settles its widths, else the target's are taken.
  const model::Model& shape = q.draft.given() ? *q.draft.model : *q.model;
  const HeadEstimate head = estimate_head(kind, shape, ranks);
  draft.known = true;
  draft.weights = head.weights;
  if (q.draft.given()) {
    draft.caches = rank_caches(*q.draft.model, cache, 0);
    for (LayerCache& c : draft.caches) c.layer += first;
  } else {
    draft.caches = head_caches(target_caches, head.cache_layers, first);
  }
  notes.assume("drafter_estimated",
               "the " + std::string(to_string(kind)) +
                   " head's weights are estimated from the shape of " +
                   (q.draft.given() ? "its config" : "its target") + ": " +
                   format_bytes(head.weights.likely) + " on each GPU, " +
                   format_bytes(head.weights.low) + " to " + format_bytes(head.weights.high),
               "sizes of published EAGLE, EAGLE-3 and DFlash heads");
  return draft;
}

}  // namespace vramwise::engines
