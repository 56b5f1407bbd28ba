#include "engines/llamacpp/caches.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "engines/llamacpp/graph/families.h"

namespace vramwise::engines::llamacpp {
namespace {

constexpr int64_t kFloat = 4;

int64_t times(int64_t a, int64_t b) { return saturating_multiply(a, b); }
int64_t plus(int64_t a, int64_t b) { return saturating_add(a, b); }

// Floats of a layer's state for one sequence: convolution or shift, and the state itself.
int64_t state_floats(const Shape& shape, MixerKind kind) {
  const Shape::Ssm& m = shape.ssm;
  switch (kind) {
    case MixerKind::mamba1: return plus(times(m.conv - 1, m.inner), times(m.state, m.inner));
    case MixerKind::mamba2:
    case MixerKind::delta:
      return plus(times(m.conv - 1, m.inner + 2 * m.groups * m.state), times(m.state, m.inner));
    case MixerKind::kimi_delta: {
      const int64_t inner = times(shape.kimi.heads, shape.kimi.dim);
      return plus(times(3 * (shape.kimi.conv - 1), inner), times(shape.kimi.dim, inner));
    }
    case MixerKind::short_conv: return times(shape.hidden, shape.short_conv - 1);
    case MixerKind::rwkv:
      return plus(times(shape.rwkv.shifts, shape.hidden),
                  times(shape.hidden, shape.rwkv.head_size));
    case MixerKind::lightning:
      return times(times(shape.lightning.dim, shape.lightning.dim), shape.lightning.heads);
    case MixerKind::none:
    case MixerKind::attention:
    case MixerKind::latent: return 0;
  }
  return 0;
}

// Floats of a compressor's unfinished blocks: the cache's and the indexer's, keys and scores each.
int64_t compressor_floats(const Shape& shape, const LayerShape& l) {
  int64_t floats = times(l.state_rows, l.state_width);
  if (l.indexer && l.compressed_by > 0) {
    floats = plus(floats, times(l.state_rows, 2 * shape.indexer.dim));
  }
  return times(2, floats);
}

// Bytes of one compressed cell.
int64_t compressed_cell_bytes(const Shape& shape, const LayerShape& l, const ContextSettings& s) {
  int64_t bytes = bytes_of_row(s.type_k, l.key_dim);
  if (l.indexer) bytes = plus(bytes, bytes_of_row(s.type_k, shape.indexer.dim));
  return bytes;
}

// Bytes of one cell of a layer: keys, values, indexer keys.
int64_t cell_bytes(const Shape& shape, const LayerShape& l, const ContextSettings& s) {
  if (l.keys_only) return bytes_of_row(s.type_k, l.key_dim);
  if (l.mixer == MixerKind::latent && shape.latent.absorbed) {
    int64_t bytes = bytes_of_row(s.type_k, shape.latent.kv_rank + shape.latent.rope);
    if (l.indexer) bytes = plus(bytes, bytes_of_row(s.type_k, shape.indexer.dim));
    return bytes;
  }
  const int64_t values = s.flash ? times(l.kv_heads, l.value_dim) : shape.widest_value_row();
  int64_t bytes =
      plus(bytes_of_row(s.type_k, times(l.kv_heads, l.key_dim)), bytes_of_row(s.type_v, values));
  if (l.indexer) bytes = plus(bytes, bytes_of_row(s.type_k, shape.indexer.dim));
  return bytes;
}

// Source: llama.cpp src/llama-model.cpp and src/models/glm4-moe.cpp: n_layer_kv_from_start left the
// layers of the head out until ggml-org/llama.cpp#24060.
bool owns_cache(const Shape& shape, const ContextSettings& settings, size_t layer) {
  if (shape.layers[layer].cache_of != int32_t(layer)) return false;
  return int64_t(layer) < shape.trunk_layers || (shape.mtp_caches && settings.mtp_caches);
}

}  // namespace

std::vector<LayerCache> layer_caches(const Shape& shape, const ContextSettings& settings,
                                     const ContextSize& size) {
  std::vector<LayerCache> caches(shape.layers.size());
  const int64_t snapshots = 1 + (shape.keeps_rollback ? settings.rollback : 0);
  for (size_t i = 0; i < shape.layers.size(); ++i) {
    const LayerShape& l = shape.layers[i];
    const bool draft_layer = int64_t(i) >= shape.trunk_layers;
    if (settings.draft_head && !draft_layer) continue;
    if (owns_cache(shape, settings, i) || (settings.draft_head && l.cache_of == int32_t(i))) {
      const int64_t cells = times(size.streams, l.sliding ? size.sliding_cells : size.cells);
      (l.sliding ? caches[i].sliding : caches[i].full) =
          times(cells, cell_bytes(shape, l, settings));
    }
    if (l.compressed_by > 0) {
      const int64_t cells = round_up(ceil_div(size.cells, l.compressed_by), 256);
      caches[i].full = times(times(size.streams, cells), compressed_cell_bytes(shape, l, settings));
    }
    if (!draft_layer) {
      const int64_t floats = plus(state_floats(shape, l.state()), compressor_floats(shape, l));
      caches[i].recurrent = times(times(kFloat, floats), times(size.sequences, snapshots));
    }
  }
  return caches;
}

int64_t bytes_per_token(const Shape& shape, const ContextSettings& settings,
                        std::span<const int16_t> layer_device, int16_t device) {
  int64_t bytes = 0;
  for (size_t i = 0; i < shape.layers.size(); ++i) {
    const LayerShape& l = shape.layers[i];
    if (layer_device[i] != device) continue;
    if (owns_cache(shape, settings, i) && !l.sliding)
      bytes = plus(bytes, cell_bytes(shape, l, settings));
    if (l.compressed_by > 0) {
      bytes = plus(bytes, compressed_cell_bytes(shape, l, settings) / l.compressed_by);
    }
  }
  return bytes;
}

CacheRefusal cache_refusal(const Shape& shape, const ContextSettings& s) {
  const Family& family = family_of(shape.architecture);
  if (family.refuses_unequal_cache_types && shape.latent.absorbed && shape.is_latent() &&
      s.type_k != s.type_v) {
    return {"", "In latent attention V is a part of K, so both cache types must be the same."};
  }
  if (is_quantized(s.type_v) && !s.flash) {
    return {"llama_init_from_model: quantized V cache requires flash_attn to be enabled",
            "A quantised V cache needs flash attention."};
  }
  if (!s.flash) return {};
  const auto refuse = [](char which, weights::GgmlType type, int64_t dim) {
    const std::string name = to_lower(weights::info(type).name);
    const std::string block = format_integer(block_elements(type));
    return CacheRefusal{std::string("llama_init_from_model: ") + which + " cache type " + name +
                            " with block size " + block + " does not divide n_embd_head_" +
                            (which == 'K' ? "k=" : "v=") + format_integer(dim),
                        "Heads of " + format_integer(dim) + " values are no multiple of the " +
                            block + " that " + name + " packs together."};
  };
  for (const LayerShape& l : shape.layers) {
    if (!l.keeps_attention()) continue;
    if (l.key_dim % block_elements(s.type_k) != 0) return refuse('K', s.type_k, l.key_dim);
    if (l.value_dim % block_elements(s.type_v) != 0) return refuse('V', s.type_v, l.value_dim);
  }
  return {};
}

}  // namespace vramwise::engines::llamacpp
