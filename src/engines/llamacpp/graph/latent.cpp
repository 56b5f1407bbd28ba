// Multi-head latent attention: DeepSeek V2/V3 and, with a sparse-attention indexer, V3.2.
// Source: ggml-org/llama.cpp src/models/deepseek2.cpp, deepseek32.cpp.
#include <algorithm>

#include "engines/llamacpp/graph/families.h"

namespace vramwise::engines::llamacpp {
namespace {

struct IndexerInputs {
  CacheInputs cache;
  TensorId rotation = kNoTensor;
};

// The cells that the indexer picks for each token, as indices.
TensorId pick_cells(Blocks& b, TensorId y, TensorId compressed_query, TensorId positions,
                    const IndexerInputs& in) {
  Graph& g = b.g;
  const Shape::Indexer& ix = b.shape.indexer;
  const int64_t t = b.tokens, s = b.streams;
  TensorId q = b.linear(Slot::indexer_attn_q_b, compressed_query, ix.heads * ix.dim);
  q = g.rope(b.heads_of(q, ix.dim, ix.heads), positions);
  TensorId k = b.layer_norm(Slot::indexer_k_norm, Slot::indexer_k_norm_bias,
                            b.linear(Slot::indexer_attn_k, y, ix.dim));
  k = g.rope(b.heads_of(k, ix.dim, 1), positions);
  q = g.mul_mat(in.rotation, q);
  k = g.mul_mat(in.rotation, k);
  constexpr int kIndexerKeys = 2;
  const TensorId keys =
      b.cache_tensor(kIndexerKeys, b.layer, b.in.settings.type_k, ix.dim, in.cache.cells, s);
  b.store_keys(in.cache, k, keys);
  TensorId w = g.mul_mat(b.weight(Slot::indexer_proj, b.hidden, ix.heads), y);
  const Extents qb = g[q].nb;
  q = g.view(q, {ix.dim, ix.heads, t / s, s}, qb[1], qb[2], qb[3] / s);
  const Extents wb = g[w].nb;
  w = g.view(w, {ix.heads, t / s, 1, s}, wb[1], wb[2] / s, wb[3] / s);
  w = g.scale(w);
  const TensorId score = g.make(Op::lightning_indexer, GgmlType::F32, {in.cache.cells, t / s, 1, s},
                                {q, b.read_keys(keys, ix.dim, 1), w, in.cache.mask});
  Extents top = g[score].ne;
  top[0] = std::min(in.cache.cells, ix.top_k);
  return g.cont(g.make(Op::top_k, GgmlType::I32, top, {score}));
}

// The mask with every cell closed that was not picked.
TensorId sparse_mask(Blocks& b, TensorId mask, TensorId picked) {
  Graph& g = b.g;
  const TensorId closed = g.fill(mask);
  const Extents n = g[closed].ne, nb = g[closed].nb;
  const TensorId cells = g.view(closed, {1, n[0], n[1], n[3]}, nb[0], nb[1], nb[2]);
  const Extents pn = g[picked].ne, pb = g[picked].nb;
  const TensorId ids = g.view(picked, {pn[0], pn[1], pn[3], 1}, pb[1], pb[2], pn[3] * pb[3]);
  const Extents in = g[ids].ne;
  const TensorId zeros = g.make(Op::none, GgmlType::F32, {1, in[0], in[1], in[2]});
  TensorId open = g.set_rows(cells, g.fill(zeros), ids);
  const Extents on = g[open].ne, ob = g[open].nb;
  open = g.view(open, {on[1], on[2], 1, on[3]}, ob[2], ob[3], ob[3]);
  return g.add(open, mask);
}

struct LatentParts {
  TensorId q_nope, q_rope, k_rope, compressed;
};

// Files without split kv_b: keys and values of every head are built and cached.
TensorId attention_full_heads(Blocks& b, const CacheInputs& cache, const LatentParts& p) {
  Graph& g = b.g;
  const Shape::Latent& m = b.shape.latent;
  const int64_t heads = b.now().heads, t = b.tokens;
  const TensorId kv = b.linear(Slot::attn_kv_b, p.compressed, heads * (m.nope + m.value));
  const int64_t row = 4 * (m.nope + m.value);
  Blocks::Attention a;
  const TensorId k_nope = g.view_3d(kv, m.nope, heads, t, row, row * heads);
  a.v = g.cont(g.view_3d(kv, m.value, heads, t, row, row * heads, 4 * m.nope));
  a.q = g.concat(p.q_nope, p.q_rope, 0);
  const TensorId k_rope = g.make(Op::repeat, GgmlType::F32, g[p.q_rope].ne, {p.k_rope, p.q_rope});
  a.k = g.concat(k_nope, k_rope, 0);
  return b.attention(cache, a);
}

TensorId attention_absorbed(Blocks& b, const CacheInputs& cache, const LatentParts& p,
                            TensorId picked) {
  Graph& g = b.g;
  const Shape::Latent& m = b.shape.latent;
  const int64_t heads = b.now().heads;
  TensorId q = g.permute(p.q_nope, 0, 2, 1, 3);
  q = g.permute(g.mul_mat(b.weight(Slot::attn_k_b, m.nope, m.kv_rank, heads), q), 0, 2, 1, 3);
  q = g.concat(q, p.q_rope, 0);
  const TensorId v = g.reshape(p.compressed, m.kv_rank, 1, b.tokens);
  const TensorId k = g.concat(v, p.k_rope, 0);
  const TensorId value_up = b.weight(Slot::attn_v_b, m.kv_rank, m.value, heads);
  // The sparse mask is built only after the keys are stored, so its ops enter with the attention.
  const TensorId mask = picked == kNoTensor ? cache.mask : sparse_mask(b, cache.mask, picked);
  return b.attention_keys_only(cache, q, k, v, value_up, mask);
}

}  // namespace

void build_latent(Blocks& b) {
  Graph& g = b.g;
  const Shape& shape = b.shape;
  const Shape::Latent& m = shape.latent;
  const int64_t t = b.tokens;
  TensorId x = b.embed();
  const TensorId positions = b.positions();
  CacheInputs cache = b.cache_inputs(false, m.absorbed);
  // Per-head keys out of a latent projection are not rotated.
  cache.k_rotation = cache.v_rotation = kNoTensor;
  IndexerInputs indexer;
  if (shape.indexer.heads > 0) {
    indexer.cache.cells = cache.cells;
    indexer.cache.k_index = b.input(GgmlType::I64, t);
    indexer.cache.mask = b.input(GgmlType::F16, cache.cells, t / b.streams, 1, b.streams);
    indexer.rotation = b.input(GgmlType::F32, shape.indexer.dim, shape.indexer.dim);
  }
  const TensorId rows = b.row_ids();

  const int32_t last = int32_t(shape.trunk_layers) - 1;
  for (int32_t i = 0; i <= last; ++i) {
    b.layer = i;
    const LayerShape& l = b.now();
    const int64_t head_dim = m.nope + m.rope;
    TensorId residual = x;
    TensorId y = b.norm(Slot::attn_norm, x);
    TensorId compressed_query = kNoTensor, picked = kNoTensor, q;
    if (m.q_rank > 0) {
      compressed_query = b.norm(Slot::attn_q_a_norm, b.linear(Slot::attn_q_a, y, m.q_rank));
      if (l.indexer) picked = pick_cells(b, y, compressed_query, positions, indexer);
      q = b.linear(Slot::attn_q_b, compressed_query, l.heads * head_dim);
    } else {
      q = b.linear(Slot::attn_q, y, l.heads * head_dim);
    }
    LatentParts p;
    p.q_nope = g.view_3d(q, m.nope, l.heads, t, 4 * head_dim, 4 * head_dim * l.heads);
    p.q_rope = g.view_3d(q, m.rope, l.heads, t, 4 * head_dim, 4 * head_dim * l.heads, 4 * m.nope);
    p.q_rope = g.rope(p.q_rope, positions);
    const TensorId kv = b.linear(Slot::attn_kv_a_mqa, y, m.kv_rank + m.rope);
    const int64_t row = 4 * (m.kv_rank + m.rope);
    p.k_rope = g.rope(g.view_3d(kv, m.rope, 1, t, row, row, 4 * m.kv_rank), positions);
    p.compressed = b.norm(Slot::attn_kv_a_norm, g.view_2d(kv, m.kv_rank, t, row));
    y = m.absorbed ? attention_absorbed(b, cache, p, picked) : attention_full_heads(b, cache, p);
    if (i == last) {
      y = g.get_rows(y, rows);
      residual = g.get_rows(residual, rows);
    }
    const TensorId middle = g.add(y, residual);
    y = b.norm(Slot::ffn_norm, middle);
    if (l.moe.experts == 0) {
      y = b.ffn(y, l.ffn_width);
    } else {
      const TensorId routed = b.moe(y, {l.moe});
      y = l.moe.shared_width > 0 ? g.add(routed, b.ffn_shared(y, l.moe.shared_width)) : routed;
    }
    x = g.add(y, middle);
  }
  b.head(x, {});
}

}  // namespace vramwise::engines::llamacpp
