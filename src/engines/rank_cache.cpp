#include "engines/rank_cache.h"

#include <algorithm>
#include <optional>
#include <type_traits>

namespace vramwise::engines {
namespace {

using model::CacheLayout;

int64_t share(int64_t heads, int64_t ranks) { return std::max<int64_t>(1, heads / ranks); }

// Keys of an indexer beside a latent cache are 8-bit, with an fp32 scale per 128 of them.
constexpr int64_t kIndexerScaleGroup = 128;
constexpr int64_t kIndexerScaleBytes = 4;

class Visitor {
 public:
  Visitor(const CacheRules& rules, bool beside_latent, bool has_indexer)
      : rules_(rules), beside_latent_(beside_latent), has_indexer_(has_indexer) {}

  std::optional<LayerCache> operator()(const model::FullAttention& c) const {
    return attention(LayerCache::Kind::full, c.kv_heads, c.key_dim, c.value_dim, 0);
  }
  std::optional<LayerCache> operator()(const model::SlidingWindow& c) const {
    return attention(LayerCache::Kind::window, c.kv_heads, c.key_dim, c.value_dim, c.window);
  }
  std::optional<LayerCache> operator()(const model::ChunkedLocal& c) const {
    return attention(LayerCache::Kind::chunk, c.kv_heads, c.key_dim, c.value_dim, c.chunk);
  }
  std::optional<LayerCache> operator()(const model::LatentAttention& c) const {
    LayerCache cache;
    cache.kind = LayerCache::Kind::latent;
    cache.token_bytes = has_indexer_ && rules_.sparse_latent_row > 0
                            ? rules_.sparse_latent_row
                            : rules_.element.bytes(c.kv_lora_rank + c.rope_dim);
    return cache;
  }
  std::optional<LayerCache> operator()(const model::IndexerKeys& c) const {
    LayerCache cache;
    cache.kind = LayerCache::Kind::indexer;
    cache.tokens_per_entry = std::max<int64_t>(1, c.tokens_per_entry);
    cache.token_bytes =
        beside_latent_ ? c.key_dim + ceil_div(c.key_dim, kIndexerScaleGroup) * kIndexerScaleBytes
                       : c.key_dim * dtype_bytes(rules_.conv);
    return cache;
  }
  std::optional<LayerCache> operator()(const model::CompressedAttention& c) const {
    LayerCache cache;
    cache.kind = LayerCache::Kind::compressed;
    cache.tokens_per_entry = c.ratio;
    cache.token_bytes = compressed_row(c.head_dim);
    cache.state_bytes = c.state_elements * 4;
    return cache;
  }
  std::optional<LayerCache> operator()(const model::SharedKeyWindow& c) const {
    LayerCache cache;
    cache.kind = LayerCache::Kind::row_window;
    cache.window = c.window;
    cache.token_bytes = compressed_row(c.head_dim);
    return cache;
  }
  std::optional<LayerCache> operator()(const model::Mamba1State& c) const {
    const int64_t inner = c.inner / rules_.ranks;
    return state(inner * (c.conv_kernel - 1), inner * c.state,
                 state_type(c.state_dtype, rules_.demanded_mamba_state));
  }
  std::optional<LayerCache> operator()(const model::Mamba2State& c) const {
    // Groups that do not divide are extended to one per rank.
    const int64_t groups = c.groups % rules_.ranks == 0 ? c.groups : rules_.ranks;
    const int64_t width = (c.heads * c.head_dim + 2 * groups * c.state) / rules_.ranks;
    return state(width * columns(c.conv_kernel), c.heads / rules_.ranks * c.head_dim * c.state,
                 state_type(c.state_dtype, rules_.demanded_mamba_state));
  }
  std::optional<LayerCache> operator()(const model::GatedDeltaState& c) const {
    const int64_t width =
        (2 * c.key_dim * c.key_heads + c.value_dim * c.value_heads) / rules_.ranks;
    return state(width * columns(c.conv_kernel),
                 c.value_heads / rules_.ranks * c.value_dim * c.key_dim,
                 state_type(c.state_dtype, rules_.demanded_delta_state));
  }
  std::optional<LayerCache> operator()(const model::KimiDeltaState& c) const {
    const int64_t heads = ceil_div(c.heads, rules_.ranks);
    return state(3 * heads * c.head_dim * columns(c.conv_kernel), heads * c.head_dim * c.head_dim,
                 DType::float32);
  }
  std::optional<LayerCache> operator()(const model::LightningState& c) const {
    return state(0, c.heads / rules_.ranks * c.head_dim * c.head_dim, rules_.recurrent);
  }
  std::optional<LayerCache> operator()(const model::ShortConvState& c) const {
    return state(c.channels / rules_.ranks * (c.conv_kernel - 1), 0, rules_.conv);
  }
  std::optional<LayerCache> operator()(const model::RwkvState& c) const {
    return state(c.shifts * c.hidden_size, c.heads / rules_.ranks * c.head_dim * c.head_dim,
                 DType::float32);
  }
  std::optional<LayerCache> operator()(const model::CrossAttention& c) const {
    return attention(LayerCache::Kind::cross, c.kv_heads, c.head_dim, c.head_dim, c.encoder_tokens);
  }
  std::optional<LayerCache> operator()(const model::SharedCache&) const { return std::nullopt; }

 private:
  LayerCache attention(LayerCache::Kind kind, int64_t kv_heads, int64_t key_dim, int64_t value_dim,
                       int64_t window) const {
    const int64_t heads = share(kv_heads, rules_.ranks);
    LayerCache cache;
    cache.kind = kind;
    cache.window = window;
    cache.token_bytes = saturating_multiply(
        heads, rules_.element.bytes(key_dim + value_dim) + 2 * rules_.bytes_per_head);
    return cache;
  }
  LayerCache state(int64_t conv, int64_t recurrent, DType type) const {
    LayerCache cache;
    cache.kind = LayerCache::Kind::state;
    cache.state_bytes = conv * dtype_bytes(rules_.conv) + recurrent * dtype_bytes(type);
    return cache;
  }
  int64_t columns(int64_t kernel) const { return kernel - 1 + rules_.speculative_tokens; }
  DType state_type(std::optional<DType> demanded, bool honoured) const {
    return !rules_.forced_state && honoured && demanded ? *demanded : rules_.recurrent;
  }
  int64_t compressed_row(int64_t head_dim) const {
    return head_dim - rules_.compressed_rope_dim + 2 * rules_.compressed_rope_dim +
           rules_.compressed_scale_bytes;
  }

  const CacheRules& rules_;
  bool beside_latent_, has_indexer_;
};

// Attention with keys and values of its own, the kind that layers share in Gemma 3n and 4.
bool is_plain_attention(const model::Layer& layer) {
  return std::any_of(layer.caches.begin(), layer.caches.end(), [](const CacheLayout& layout) {
    return std::holds_alternative<model::FullAttention>(layout) ||
           std::holds_alternative<model::SlidingWindow>(layout);
  });
}

// The layer whose layouts `layer` stores: its own, or where shared ones are copied the sharer's.
const model::Layer& stored_as(const model::Model& model, const model::Layer& layer,
                              const CacheRules& rules) {
  if (!rules.copies_shared || layer.caches.size() != 1) return layer;
  const auto* shared = std::get_if<model::SharedCache>(&layer.caches.front());
  if (shared == nullptr || shared->layer < 0 || shared->layer >= int64_t(model.layers.size())) {
    return layer;
  }
  const model::Layer& source = model.layers[size_t(shared->layer)];
  return is_plain_attention(source) ? source : layer;
}

void add_layer(const model::Layer& layer, int32_t index, bool sparse, const CacheRules& rules,
               std::vector<LayerCache>& out) {
  bool latent = false;
  for (const CacheLayout& layout : layer.caches) {
    latent = latent || std::holds_alternative<model::LatentAttention>(layout) ||
             std::holds_alternative<model::CompressedAttention>(layout) ||
             std::holds_alternative<model::SharedKeyWindow>(layout);
  }
  const Visitor visitor(rules, latent, sparse);
  for (const CacheLayout& layout : layer.caches) {
    if (auto cache = std::visit(visitor, layout)) {
      cache->layer = index;
      out.push_back(*cache);
    }
  }
}

// A layer may read its neighbour's indexer, so one indexer makes the whole model sparse.
bool has_indexer(const model::Model& model) {
  for (const model::Layer& layer : model.layers) {
    for (const CacheLayout& layout : layer.caches) {
      if (std::holds_alternative<model::IndexerKeys>(layout)) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<LayerCache> rank_caches(const model::Model& model, const CacheRules& rules,
                                    int64_t mtp_layers) {
  std::vector<LayerCache> caches;
  caches.reserve(model.layers.size() + 4);
  int32_t index = 0;
  const bool sparse = has_indexer(model);
  for (const model::Layer& layer : model.layers) {
    add_layer(stored_as(model, layer, rules), index++, sparse, rules, caches);
  }
  for (int64_t i = 0; i < mtp_layers && i < int64_t(model.mtp_layers.size()); ++i) {
    add_layer(model.mtp_layers[size_t(i)], index++, sparse, rules, caches);
  }
  return caches;
}

}  // namespace vramwise::engines
