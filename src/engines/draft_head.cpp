#include "engines/draft_head.h"

#include <algorithm>

#include "base/text.h"

namespace vramwise::engines {
namespace {

constexpr int64_t kElement = 2;  // heads are published in 16 bits
// Source: sgl-project/SpecForge configs/*-eagle3.json (draft_vocab_size), *-dflash.json
// (num_hidden_layers, target_layer_ids); ggml-org/llama.cpp src/models/eagle3.cpp (extract_layers).
constexpr int64_t kReducedVocabulary = 32000;
constexpr int64_t kTapped = 3;  // target layers that EAGLE-3 listens to
constexpr int64_t kDflashLayers = 5;
constexpr int64_t kDflashTapped = 5;
constexpr int64_t kMedusaHeads = 5;

// A decoder layer as the target's trainers would build it: attention of its widest layer, a dense
// feed-forward.
struct LayerSize {
  int64_t attention_in = 0;  // parameters that read the layer's input: q, k, v
  int64_t rest = 0;          // output projection and feed-forward
};

LayerSize layer_of(const model::Model& target) {
  const int64_t h = target.hidden_size;
  int64_t query = 0, key = 0, width = 0;
  for (const model::Layer& layer : target.layers) {
    for (const model::Mixer& mixer : layer.mixers) {
      if (const auto* a = std::get_if<model::AttentionBlock>(&mixer)) {
        query = std::max(query, a->query_heads * a->value_dim);
        key = std::max(key, a->kv_heads * a->key_dim);
      }
    }
    if (const auto* dense = std::get_if<model::DenseFeedForward>(&layer.feed_forward)) {
      width = std::max(width, dense->width);
    }
  }
  // Targets with latent attention get heads with plain attention of their own width.
  if (query == 0) query = h;
  if (key == 0) key = h / 4;
  // Where every layer has experts, heads are dense and about four times as wide as they are deep.
  if (width == 0) width = 4 * h;
  LayerSize size;
  size.attention_in = h * (query + 2 * key);
  size.rest = h * query + 3 * h * width;
  return size;
}

}  // namespace

HeadKind head_kind(std::string_view method, std::string_view name) {
  for (const std::string_view text : {method, name}) {
    const std::string lower = to_lower(text);
    if (contains(lower, "eagle3") || contains(lower, "eagle-3")) return HeadKind::eagle3;
    if (contains(lower, "eagle")) return HeadKind::eagle;
    if (contains(lower, "dflash")) return HeadKind::dflash;
    if (contains(lower, "medusa")) return HeadKind::medusa;
    // A method that says what it is leaves nothing for a name to tell.
    const bool open = lower.empty() || lower == "draft_model" || lower == "draft-simple";
    if (!open) return HeadKind::none;
  }
  return HeadKind::none;
}

std::string_view to_string(HeadKind kind) {
  switch (kind) {
    case HeadKind::none: break;
    case HeadKind::eagle: return "EAGLE";
    case HeadKind::eagle3: return "EAGLE-3";
    case HeadKind::dflash: return "DFlash";
    case HeadKind::medusa: return "Medusa";
  }
  return "none";
}

HeadEstimate estimate_head(HeadKind kind, const model::Model& target, int64_t ranks) {
  const int64_t h = target.hidden_size, vocab = target.vocab_size;
  const LayerSize layer = layer_of(target);
  // Rows of EAGLE-3's output: its own config names them, else what most are trained with.
  const bool named = target.draft_vocab_size > 0;
  const int64_t own_rows = named ? target.draft_vocab_size : std::min(vocab, kReducedVocabulary);
  HeadEstimate head;
  // Parameters: those that ranks share, and those that each keeps whole.
  int64_t shared = 0, whole = 0, most_shared = 0;
  switch (kind) {
    case HeadKind::none: return head;
    case HeadKind::eagle:
      shared = layer.attention_in + layer.rest;
      whole = 2 * h * h;
      most_shared = shared + h * vocab;  // an output head of its own
      head.cache_layers = 1;
      break;
    case HeadKind::eagle3:
      // Its attention reads the embedding beside the hidden state.
      shared = 2 * layer.attention_in + layer.rest + h * own_rows;
      whole = kTapped * h * h;
      // An output head over the whole vocabulary, as some are trained, and an embedding.
      most_shared = 2 * layer.attention_in + layer.rest + 2 * h * vocab;
      head.cache_layers = 1;
      break;
    case HeadKind::dflash:
      shared = kDflashLayers * (layer.attention_in + layer.rest);
      whole = kDflashTapped * h * h;
      most_shared = shared * 8 / 5 + h * vocab;
      head.cache_layers = kDflashLayers;
      break;
    case HeadKind::medusa:
      shared = kMedusaHeads * h * vocab;
      whole = kMedusaHeads * h * h;
      most_shared = shared;
      break;
  }
  const int64_t n = std::max<int64_t>(1, ranks);
  const Bytes likely(kElement * (shared / n + whole));
  head.weights = {likely / 2, likely, Bytes(kElement * (most_shared / n + whole))};
  // A config of its own settles every matrix; open is whether the file holds the embedding too.
  if (named && kind == HeadKind::eagle3) {
    head.weights.low = likely;
    head.weights.high = likely + Bytes(kElement * (h * vocab / n));
  }
  return head;
}

}  // namespace vramwise::engines
