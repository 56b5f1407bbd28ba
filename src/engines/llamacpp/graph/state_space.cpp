// State-space stacks: Mamba, Mamba-2 and the hybrids that put attention beside or between them.
// Source: ggml-org/llama.cpp src/models/mamba-base.cpp, falcon-h1.cpp, granite-hybrid.cpp,
// nemotron-h.cpp, jamba.cpp.
#include <algorithm>

#include "engines/llamacpp/graph/families.h"

namespace vramwise::engines::llamacpp {
namespace {

TensorId mamba2(Blocks& b, const StateInputs& states, TensorId x) {
  Graph& g = b.g;
  const Shape::Ssm& m = b.shape.ssm;
  const int64_t n = b.sequences, ts = b.sequence_tokens;
  const int64_t head_dim = m.inner / m.heads;
  const int64_t channels = m.inner + 2 * m.groups * m.state;
  const int64_t columns = m.conv - 1;

  const LoadedState conv = b.load_state(states, 0, columns * channels);
  const TensorId past = g.reshape(conv.rows, columns, channels, n);
  const TensorId in = g.mul_mat(b.weight(Slot::ssm_in, b.hidden, m.inner + channels + m.heads),
                                g.reshape(x, b.hidden, ts, n));
  const Extents nb = g[in].nb;
  const TensorId z = g.view(in, {head_dim, m.heads, ts, n}, head_dim * 4, nb[1], nb[2]);
  const TensorId xbc = g.view_3d(in, channels, ts, n, nb[1], nb[2], m.inner * 4);
  TensorId dt = g.view_3d(in, m.heads, ts, n, nb[1], nb[2], (m.inner + channels) * 4);

  const TensorId window = g.concat(past, g.transpose(xbc), 0);
  const int64_t size = columns * channels;
  for (int64_t slot = 0; slot < std::min(ts, b.snapshots); ++slot) {
    const Extents wb = g[window].nb;
    const TensorId tail = g.view_3d(window, columns, channels, n, wb[1], wb[2], (ts - slot) * 4);
    g.expand(g.copy_into(tail,
                         g.view_2d(conv.store, size, n, g[conv.store].nb[1], slot * n * size * 4)));
  }
  TensorId y = g.make(Op::ssm_conv, GgmlType::F32, {channels, ts, n, 1},
                      {window, b.weight(Slot::ssm_conv1d, m.conv, channels)});
  y = g.unary(g.add(y, b.weight(Slot::ssm_conv1d_bias, channels)));
  const Extents yb = g[y].nb;
  const TensorId xx = g.view(y, {head_dim, m.heads, ts, n}, head_dim * 4, yb[1], yb[2]);
  const TensorId bb = g.view(y, {m.state, m.groups, ts, n}, m.state * 4, yb[1], yb[2], m.inner * 4);
  const TensorId cc = g.view(y, {m.state, m.groups, ts, n}, m.state * 4, yb[1], yb[2],
                             (m.inner + m.groups * m.state) * 4);
  dt = g.add(g.cont(dt), b.weight(Slot::ssm_dt_bias, m.heads));
  const TensorId decay = b.weight(Slot::ssm_a, 1, m.heads);

  const int64_t state = m.state * m.inner;
  const int64_t rows = g[xx].elements();
  const LoadedState scanned = b.load_state_with(states, 1, state, [&](TensorId all, TensorId ids) {
    const TensorId per_head = g.reshape(all, m.state, head_dim, m.heads, g[all].ne[1]);
    return g.make(Op::ssm_scan, GgmlType::F32,
                  {rows + b.snapshots * m.state * head_dim * m.heads * g[ids].ne[0], 1, 1, 1},
                  {per_head, xx, dt, decay, bb, cc, ids});
  });
  const int64_t kept = std::min(ts, b.snapshots);
  g.expand(
      g.copy_into(g.view_3d(scanned.rows, state, n, kept, state * 4, state * 4 * n, rows * 4),
                  g.view_3d(scanned.store, state, n, kept, g[scanned.store].nb[1], n * state * 4)));

  const int64_t row = g[xx].nb[1];
  y = g.view(scanned.rows, {head_dim, m.heads, ts, n}, row, m.heads * row, ts * m.heads * row);
  y = g.add(y, g.mul(xx, b.weight(Slot::ssm_d, 1, m.heads)));
  y = b.combine(g.cont(z), y);
  if (b.has(Slot::ssm_norm)) {
    y = b.norm_grouped(Slot::ssm_norm, g.reshape(y, m.inner / m.groups, m.groups, ts, n));
  }
  y = b.linear(Slot::ssm_out, g.reshape(y, m.inner, ts, n), b.hidden);
  return g.reshape(y, b.hidden, ts * n);
}

TensorId mamba1(Blocks& b, const StateInputs& states, TensorId x) {
  Graph& g = b.g;
  const Shape::Ssm& m = b.shape.ssm;
  const int64_t n = b.sequences, ts = b.sequence_tokens, columns = m.conv - 1;
  const int64_t rank = m.heads;  // of the time step

  const LoadedState conv = b.load_state(states, 0, columns * m.inner);
  const TensorId past = g.reshape(conv.rows, columns, m.inner, n);
  const TensorId xz =
      g.mul_mat(b.weight(Slot::ssm_in, b.hidden, 2 * m.inner), g.reshape(x, b.hidden, ts, n));
  const Extents nb = g[xz].nb;
  const TensorId xv = g.view_3d(xz, m.inner, ts, n, nb[1], nb[2]);
  const TensorId z = g.view_3d(xz, m.inner, ts, n, nb[1], nb[2], m.inner * 4);
  const TensorId window = g.concat(past, g.transpose(xv), 0);
  const TensorId tail =
      g.view_3d(window, columns, m.inner, n, g[window].nb[1], g[window].nb[2], ts * 4);
  g.expand(g.copy_into(tail, g.view_1d(conv.store, columns * m.inner * n)));
  TensorId y = g.make(Op::ssm_conv, GgmlType::F32, {m.inner, ts, n, 1},
                      {window, b.weight(Slot::ssm_conv1d, m.conv, m.inner)});
  y = g.unary(g.add(y, b.weight(Slot::ssm_conv1d_bias, m.inner)));

  const TensorId projected = b.linear(Slot::ssm_x, y, rank + 2 * m.state);
  const Extents pb = g[projected].nb;
  TensorId dt = g.view_3d(projected, rank, ts, n, pb[1], pb[2]);
  const TensorId bb = g.view(projected, {m.state, 1, ts, n}, m.state * 4, pb[1], pb[2], 4 * rank);
  const TensorId cc =
      g.view(projected, {m.state, 1, ts, n}, m.state * 4, pb[1], pb[2], 4 * (rank + m.state));
  dt = g.add(b.linear(Slot::ssm_dt, dt, m.inner), b.weight(Slot::ssm_dt_bias, m.inner));
  const TensorId xx = g.reshape(y, 1, m.inner, ts, n);
  const TensorId decay = b.weight(Slot::ssm_a, m.state, m.inner);

  const int64_t state = m.state * m.inner;
  const int64_t rows = g[xx].elements();
  const LoadedState scanned = b.load_state_with(states, 1, state, [&](TensorId all, TensorId ids) {
    const TensorId per_head = g.reshape(all, m.state, 1, m.inner, n);
    return g.make(Op::ssm_scan, GgmlType::F32, {rows + state * g[ids].ne[0], 1, 1, 1},
                  {per_head, xx, dt, decay, bb, cc, ids});
  });
  g.expand(g.copy_into(g.view_1d(scanned.rows, state * n, g[xx].nb[3] * g[xx].ne[3]),
                       g.view_1d(scanned.store, state * n)));
  TensorId out = g.view_3d(scanned.rows, m.inner, ts, n, g[xx].nb[2], g[xx].nb[3]);
  out = g.add(out, g.mul(y, b.weight(Slot::ssm_d, m.inner)));
  out = b.combine(g.cont(z), out);
  return g.reshape(b.linear(Slot::ssm_out, out, b.hidden), b.hidden, ts * n);
}

TensorId attention(Blocks& b, const CacheInputs& cache, TensorId y, TensorId positions) {
  Graph& g = b.g;
  const LayerShape& l = b.now();
  const TensorId q = b.linear_maybe(Slot::attn_q, Slot::attn_q_bias, y, l.heads * l.key_dim);
  const TensorId k = b.linear_maybe(Slot::attn_k, Slot::attn_k_bias, y, l.kv_heads * l.key_dim);
  const TensorId v = b.linear_maybe(Slot::attn_v, Slot::attn_v_bias, y, l.kv_heads * l.value_dim);
  Blocks::Attention a;
  a.q = b.heads_of(q, l.key_dim, l.heads);
  a.k = b.heads_of(k, l.key_dim, l.kv_heads);
  a.v = b.heads_of(v, l.value_dim, l.kv_heads);
  if (l.rope) {
    a.q = g.rope(a.q, positions);
    a.k = g.rope(a.k, positions);
  }
  return b.attention(cache, a);
}

// Experts on a narrower width, with a shared expert, all with squared ReLU (Nemotron-H MoE).
TensorId latent_experts(Blocks& b, TensorId y) {
  Graph& g = b.g;
  const MoeShape& m = b.now().moe;
  MoeCall call{m};
  const TensorId x = m.latent_width > 0 ? b.linear(Slot::ffn_latent_down, y, m.latent_width) : y;
  call.logits = g.mul_mat(b.weight(Slot::ffn_gate_inp, b.hidden, m.experts), y);
  call.width = g[x].ne[0];
  TensorId routed = b.moe(x, call);
  if (m.latent_width > 0) routed = b.linear(Slot::ffn_latent_up, routed, b.hidden);
  if (m.shared_width == 0) return routed;
  const TensorId up = b.linear(Slot::ffn_up_shexp, y, m.shared_width);
  return g.add(routed, b.linear(Slot::ffn_down_shexp, b.relu_squared(up), b.hidden));
}

// The mixer of one layer, or its feed-forward where layers are single blocks.
TensorId block(Blocks& b, const CacheInputs& cache, const StateInputs& states, TensorId y,
               TensorId positions) {
  const LayerShape& l = b.now();
  switch (l.mixer) {
    case MixerKind::attention: return attention(b, cache, y, positions);
    case MixerKind::mamba1: return mamba1(b, states, y);
    case MixerKind::mamba2: return mamba2(b, states, y);
    default: break;
  }
  return l.moe.experts > 0 ? latent_experts(b, y) : b.ffn_plain(y);
}

TensorId feed_forward(Blocks& b, TensorId y) {
  const LayerShape& l = b.now();
  if (l.moe.experts == 0) return b.ffn(y, l.ffn_width);
  const TensorId routed = b.moe(y, {l.moe});
  return l.moe.shared_width > 0 ? b.g.add(routed, b.ffn_shared(y, l.moe.shared_width)) : routed;
}

}  // namespace

void build_state_stack(Blocks& b) {
  Graph& g = b.g;
  const Shape& shape = b.shape;
  TensorId x = b.embed();
  if (shape.embedding_scaled) x = g.expand(g.scale(x));
  const TensorId positions = b.positions();
  const StateInputs states = b.state_inputs();
  CacheInputs cache;
  if (shape.has_attention()) cache = b.cache_inputs(false);
  const TensorId rows = b.row_ids();
  const bool late = family_of(shape.architecture).late_rows && b.rules.late_row_selection;
  const int32_t last = int32_t(shape.trunk_layers) - 1;

  for (int32_t i = 0; i <= last; ++i) {
    b.layer = i;
    const LayerShape& l = b.now();
    TensorId residual = x;
    TensorId y = b.norm(Slot::attn_norm, x);
    if (l.second != MixerKind::none) {
      // Attention and state side by side, each behind its own copy of the norm.
      const TensorId attended = attention(b, cache, y, positions);
      const TensorId scanned = mamba2(b, states, b.norm(Slot::attn_norm, x));
      y = g.add(attended, scanned);
      residual = g.add(y, residual);
      if (i == last) {
        y = g.get_rows(y, rows);
        residual = g.get_rows(residual, rows);
      }
      x = g.add(b.ffn(b.norm(Slot::ffn_norm, residual), l.ffn_width), residual);
      continue;
    }
    y = block(b, cache, states, y, positions);
    if (i == last && !late) {
      y = g.get_rows(y, rows);
      residual = g.get_rows(residual, rows);
    }
    if (shape.residual_scaled) y = g.scale(y);
    x = g.add(y, residual);
    // Layers of a mixer and a feed-forward; single-block layers have no second norm.
    if (b.has(Slot::ffn_norm) && l.mixer != MixerKind::none) {
      const TensorId middle = x;
      y = feed_forward(b, b.norm(Slot::ffn_norm, middle));
      if (shape.residual_scaled) y = g.scale(y);
      x = g.add(y, middle);
    }
  }
  Blocks::Head head;
  if (late) head.select = rows;
  b.head(x, head);
}

}  // namespace vramwise::engines::llamacpp
