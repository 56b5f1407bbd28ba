// Encoders for embeddings and ranking: every token sees every other of the batch and nothing is
// kept, so that attention reads the batch's own keys and values.
// Source: ggml-org/llama.cpp src/models/bert.cpp, modern-bert.cpp, src/llama-graph.cpp
// (build_attn_inp_no_cache, build_pooling); before the graphs were classes: src/llama.cpp.
#include <array>

#include "engines/llamacpp/graph/families.h"

namespace vramwise::engines::llamacpp {
namespace {

// The sum of token, type and position embeddings, normalised.
TensorId embedded(Blocks& b, TensorId positions) {
  Graph& g = b.g;
  TensorId x = b.embed();
  const auto on_host = [&](Slot slot, int64_t rows) {
    const TensorId table = b.weight(slot, b.hidden, rows);
    g[table].memory = b.in.cpu;
    return table;
  };
  constexpr int64_t kTypes = 2;  // sentence A and B; only the first row is read
  if (b.has(Slot::token_types)) {
    x = g.add(x, g.view_1d(on_host(Slot::token_types, kTypes), b.hidden));
  }
  if (b.has(Slot::position_embd)) {
    x = g.add(g.get_rows(on_host(Slot::position_embd, b.shape.train_ctx), positions), x);
  }
  if (!b.has(Slot::token_embd_norm)) return x;
  const bool biased = b.has(Slot::token_embd_norm_bias);
  return b.norm_of_kind(biased ? model::NormKind::layer_norm_bias : model::NormKind::layer_norm,
                        Slot::token_embd_norm, Slot::token_embd_norm_bias, x);
}

TensorId mask_input(Blocks& b) {
  const bool half = b.flash && b.rules.mask_half;
  const int64_t rows = b.rules.mask_rows_exact ? b.tokens : round_up(b.tokens, 64);
  const TensorId mask = b.input(half ? GgmlType::F16 : GgmlType::F32, b.tokens, rows);
  return b.flash && !half ? b.g.make(Op::cpy, GgmlType::F16, b.g[mask].ne, {mask}) : mask;
}

// Builds before the caches of encoders went: keys enter first and are packed, values follow.
TensorId attend_older(Blocks& b, TensorId q, TensorId k, TensorId v, TensorId mask) {
  Graph& g = b.g;
  const LayerShape& l = b.now();
  q = g.permute(q, 0, 2, 1, 3);
  k = g.cont(g.permute(k, 0, 2, 1, 3));
  const TensorId scores = g.soft_max(g.mul_mat(k, q), mask);
  v = g.reshape(g.cont(g.transpose(v)), b.tokens, l.value_dim, l.kv_heads);
  const TensorId o = g.permute(g.mul_mat(v, scores), 0, 2, 1, 3);
  return g.expand(g.cont_as(o, l.heads * l.value_dim, b.tokens));
}

TensorId attend(Blocks& b, TensorId q, TensorId k, TensorId v, TensorId mask) {
  Graph& g = b.g;
  const LayerShape& l = b.now();
  g.expand(q);
  g.expand(v);
  g.expand(k);
  if (!b.flash) return b.attend(q, k, v, mask, kNoTensor, kNoTensor, false);
  const auto half = [&](TensorId x) {
    const TensorId heads_last = g.permute(x, 0, 2, 1, 3);
    return g.make(Op::cpy, GgmlType::F16, g[heads_last].ne, {heads_last});
  };
  q = g.permute(q, 0, 2, 1, 3);
  k = half(k);
  v = half(v);
  const TensorId o = g.flash_attn(q, k, v, mask, kNoTensor);
  return g.expand(g.reshape(o, l.heads * l.value_dim, b.tokens));
}

TensorId attention(Blocks& b, TensorId y, TensorId positions, TensorId mask) {
  Graph& g = b.g;
  const LayerShape& l = b.now();
  const int64_t width = l.heads * l.key_dim, values = l.kv_heads * l.value_dim;
  TensorId q, k, v;
  if (l.fused_qkv) {
    const TensorId all = b.linear_maybe(Slot::attn_qkv, Slot::attn_qkv_bias, y,
                                        width + l.kv_heads * l.key_dim + values);
    const int64_t row = g[all].nb[1];
    const auto part = [&](int64_t heads, int64_t at) {
      return g.view_3d(all, l.key_dim, heads, b.tokens, 4 * l.key_dim, row, 4 * at);
    };
    q = part(l.heads, 0);
    k = part(l.kv_heads, width);
    v = part(l.kv_heads, width + l.kv_heads * l.key_dim);
  } else {
    q = b.heads_of(b.linear_maybe(Slot::attn_q, Slot::attn_q_bias, y, width), l.key_dim, l.heads);
    k = b.heads_of(b.linear_maybe(Slot::attn_k, Slot::attn_k_bias, y, l.kv_heads * l.key_dim),
                   l.key_dim, l.kv_heads);
    v = b.linear_maybe(Slot::attn_v, Slot::attn_v_bias, y, values);
    if (b.rules.encoders_cache_nothing) v = b.heads_of(v, l.value_dim, l.kv_heads);
  }
  if (l.rope) {
    q = g.rope(q, positions);
    k = g.rope(k, positions);
  }
  const bool older = !b.rules.encoders_cache_nothing && !l.fused_qkv;
  const TensorId o = older ? attend_older(b, q, k, v, mask) : attend(b, q, k, v, mask);
  return b.linear_maybe(Slot::attn_output, Slot::attn_output_bias, o, b.hidden);
}

// A norm with the bias that the file has.
TensorId norm(Blocks& b, Slot slot, Slot bias, TensorId x) {
  if (!b.has(slot)) return x;
  return b.norm_of_kind(
      b.has(bias) ? model::NormKind::layer_norm_bias : model::NormKind::layer_norm, slot, bias, x);
}

}  // namespace

void build_encoder(Blocks& b) {
  Graph& g = b.g;
  const Shape& shape = b.shape;
  const TensorId positions = b.positions();
  TensorId x = embedded(b, positions);
  std::array<TensorId, 2> masks = {mask_input(b), kNoTensor};  // all, within the window
  masks[1] = shape.has_sliding() ? mask_input(b) : kNoTensor;
  const TensorId rows = b.row_ids();

  const int32_t last = int32_t(shape.trunk_layers) - 1;
  for (int32_t i = 0; i <= last; ++i) {
    b.layer = i;
    const LayerShape& l = b.now();
    const bool before = b.has(Slot::ffn_norm);  // norms before the blocks, not behind them
    TensorId residual = x;
    TensorId y = before ? norm(b, Slot::attn_norm, Slot::attn_norm_bias, x) : x;
    y = attention(b, y, positions, masks[l.sliding ? 1 : 0]);
    if (i == last && b.rules.encoders_cache_nothing) {
      y = g.get_rows(y, rows);
      residual = g.get_rows(residual, rows);
    }
    TensorId middle = g.add(y, residual);
    if (!before) middle = norm(b, Slot::attn_output_norm, Slot::attn_output_norm_bias, middle);
    y = before ? norm(b, Slot::ffn_norm, Slot::ffn_norm_bias, middle) : middle;
    x = g.add(b.ffn_plain(y), middle);
    if (!before) x = norm(b, Slot::layer_output_norm, Slot::layer_output_norm_bias, x);
  }
  b.layer = -1;
  x = norm(b, Slot::output_norm, Slot::output_norm_bias, x);
  g[x].output = true;
  g.expand(x);
  // One row of each sequence, its first; a mean over its tokens takes no more.
  const int64_t firsts = b.rules.encoders_cache_nothing ? b.sequences : b.tokens;
  const TensorId pooled = g.get_rows(x, b.input(GgmlType::I32, firsts));
  g[pooled].output = true;
  g.expand(pooled);
}

}  // namespace vramwise::engines::llamacpp
