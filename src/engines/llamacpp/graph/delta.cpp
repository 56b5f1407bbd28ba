// The gated delta rule, as one op or out of plain ops, and the models built on it: Qwen3-Next,
// Qwen3.5 and its draft head, Kimi Linear.
// Source: ggml-org/llama.cpp src/models/delta-net-base.cpp, qwen3next.cpp, qwen35.cpp,
// kimi-linear.cpp.
#include <algorithm>

#include "engines/llamacpp/graph/families.h"

namespace vramwise::engines::llamacpp {
namespace {

TensorId transposed(Graph& g, TensorId x) { return g.cont(g.transpose(x)); }

// Blocks of 64 tokens, or 16 with a gate for each channel.
DeltaRule delta_in_blocks(Graph& g, TensorId q, TensorId k, TensorId v, TensorId gate,
                          TensorId beta, TensorId state) {
  const Extents qn = g[q].ne, vn = g[v].ne;
  const int64_t key_dim = qn[0], heads_k = qn[1], t = qn[2], n = qn[3];
  const int64_t value_dim = vn[0], heads_v = vn[1];
  const bool per_channel = g[gate].ne[0] == key_dim && g[gate].ne[1] == heads_k;
  const int64_t c = per_channel ? 16 : 64;
  const int64_t padded = round_up(t, c);
  const int64_t blocks = padded / c;
  const int64_t z = heads_v * n;
  const auto by_head = [&](TensorId x) { return g.permute(x, 0, 2, 1, 3); };
  const auto to_blocks = [&](TensorId x) {
    const Extents e = g[x].ne;
    return g.pad(x, {e[0], padded, e[2], e[3]});
  };
  const auto op = [&](Op o, TensorId x) { return g.like_first(o, {x}); };

  q = g.scale(q);
  q = to_blocks(by_head(q));
  k = to_blocks(by_head(k));
  v = to_blocks(by_head(v));
  gate = to_blocks(by_head(gate));
  beta = to_blocks(by_head(beta));
  TensorId v_beta = g.mul(v, beta);
  TensorId k_beta = g.mul(k, beta);
  q = g.reshape(q, key_dim, c, blocks, heads_k * n);
  k = g.reshape(k, key_dim, c, blocks, heads_k * n);
  k_beta = g.reshape(k_beta, key_dim, c, blocks, z);
  v = g.reshape(v, value_dim, c, blocks, z);
  v_beta = g.reshape(v_beta, value_dim, c, blocks, z);
  gate = g.reshape(gate, g[gate].ne[0], c, blocks, z);
  const TensorId decay = op(Op::cumsum, transposed(g, gate));

  TensorId kb, kq;
  if (per_channel) {
    const int64_t all = blocks * heads_k * n;
    const TensorId gi = g.reshape(decay, c, 1, key_dim, all);
    const TensorId gj = g.repeat(g.reshape(decay, 1, c, key_dim, all), c, c, key_dim, all);
    TensorId m = g.unary(op(Op::tri, g.sub(gj, gi)));
    m = g.cont_as(g.permute(m, 2, 1, 0, 3), key_dim, c, c, all);
    const TensorId kj = g.reshape(k, key_dim, 1, c, all);
    const TensorId with_k = g.mul(m, g.reshape(k_beta, key_dim, c, 1, all));
    const TensorId with_q = g.mul(m, g.reshape(q, key_dim, c, 1, all));
    const auto product = [&](TensorId x) {
      return transposed(g, g.reshape(g.mul_mat(x, kj), c, c, blocks, z));
    };
    kb = product(with_k);
    kq = product(with_q);
  } else {
    const TensorId gj = g.repeat(g.reshape(decay, 1, c, blocks, z), c, c, blocks, z);
    const TensorId m = g.unary(op(Op::tri, g.sub(gj, decay)));
    kb = g.mul(g.mul_mat(k, k_beta), m);
    kq = g.mul(g.mul_mat(k, q), m);
  }
  kq = op(Op::tri, kq);
  TensorId attn = op(Op::tri, kb);
  const TensorId ones = g.fill(g.view_1d(attn, c));
  const TensorId identity = g.make(Op::diag, GgmlType::F32, {c, c, 1, 1}, {ones});
  const TensorId lhs = g.add(attn, identity);
  const TensorId negative = g.unary(attn);
  attn = g.add(g.make(Op::solve_tri, GgmlType::F32, g[negative].ne, {lhs, negative}), identity);
  v = g.mul_mat(transposed(g, v_beta), attn);
  const TensorId decay_exp = g.unary(decay);
  const TensorId k_decayed = g.mul_mat(g.mul(transposed(g, k_beta), decay_exp), attn);
  const TensorId q_decayed = g.mul(q, transposed(g, decay_exp));
  const Extents dn = g[decay].ne, db = g[decay].nb;
  const TensorId end =
      g.cont(g.view(decay, {1, dn[1], dn[2], dn[3]}, db[1], db[2], db[3], 4 * (dn[0] - 1)));
  const TensorId end_exp = g.transpose(g.unary(end));
  const TensorId to_end = transposed(g, g.unary(g.unary(g.sub(decay, end))));
  const TensorId k_to_end = transposed(g, g.mul(k, to_end));
  TensorId s = g.reshape(state, value_dim, value_dim, 1, z);
  const TensorId v_t = transposed(g, v);
  const auto slice = [&](TensorId x, int64_t i) {
    const Extents e = g[x].ne, b = g[x].nb;
    return g.view(x, {e[0], e[1], 1, e[3]}, b[1], b[2], b[3], b[2] * i);
  };
  for (int64_t i = 0; i < blocks; ++i) {
    const TensorId kd = slice(k_decayed, i), vt = slice(v_t, i), kqi = slice(kq, i);
    const TensorId qd = slice(q_decayed, i), ke = slice(k_to_end, i);
    const TensorId fresh = g.sub(vt, g.mul_mat(kd, s));
    const TensorId within = g.mul_mat(fresh, kqi);
    const TensorId o = g.add(g.mul_mat(s, qd), within);
    v = g.show(Op::set, v, g[v].ne, g[v].nb, 0, {v, o});
    const TensorId gained = g.mul_mat(ke, fresh);
    s = g.add(g.mul(s, slice(end_exp, i)), gained);
  }
  const TensorId out = g.view(v, {value_dim, t, heads_v, n}, 4 * value_dim, 4 * value_dim * padded,
                              4 * value_dim * padded * heads_v);
  DeltaRule rule;
  rule.out = g.permute(out, 0, 2, 1, 3);
  rule.state = g.reshape(s, value_dim, value_dim, heads_v, n);
  return rule;
}

}  // namespace

DeltaRule delta_rule(Blocks& b, TensorId q, TensorId k, TensorId v, TensorId gate, TensorId beta,
                     TensorId state, bool fused) {
  Graph& g = b.g;
  if (!fused) return delta_in_blocks(g, q, k, v, gate, beta, state);
  const Extents e = g[v].ne;
  const int64_t dim = e[0], heads = e[1], t = e[2], n = e[3];
  DeltaRule rule;
  rule.result =
      g.make(Op::gated_delta_net, GgmlType::F32, {dim * heads, t * n + b.snapshots * dim * n, 1, 1},
             {q, k, v, gate, beta, state});
  g[rule.result].layer = b.layer;
  rule.out = g.view(rule.result, {dim, heads, t, n}, 4 * dim, 4 * dim * heads, 4 * dim * heads * t);
  return rule;
}

namespace {

// Attention whose query projection also yields a gate on its result.
TensorId gated_attention(Blocks& b, const CacheInputs& cache, TensorId y, TensorId positions) {
  Graph& g = b.g;
  const LayerShape& l = b.now();
  const int64_t dim = l.key_dim, heads = l.heads, t = b.tokens;
  TensorId both = b.linear(Slot::attn_q, y, 2 * heads * dim);
  TensorId q, gate;
  if (b.shape.position_sections == 1) {
    both = g.reshape(both, 2 * dim, heads, t);
    const Extents nb = g[both].nb;
    q = g.view(both, {dim, heads, t, 1}, nb[1], nb[2], nb[3]);
    gate = g.view(both, {dim, heads, t, 1}, nb[1], nb[2], nb[3], 4 * dim);
  } else {
    q = g.view_3d(both, dim, heads, t, 8 * dim, 8 * dim * heads);
    gate = g.view_3d(both, dim, heads, t, 8 * dim, 8 * dim * heads, 4 * dim);
  }
  Blocks::Attention a;
  a.k = b.heads_of(b.linear(Slot::attn_k, y, l.kv_heads * dim), dim, l.kv_heads);
  a.v = b.heads_of(b.linear(Slot::attn_v, y, l.kv_heads * l.value_dim), l.value_dim, l.kv_heads);
  a.q = g.rope(b.norm(Slot::attn_q_norm, q), positions);
  a.k = g.rope(b.norm(Slot::attn_k_norm, a.k), positions);
  a.project = Blocks::Project::no;
  const TensorId o = b.attention(cache, a);
  gate = g.unary(g.cont_as(gate, dim * heads, t));
  return b.linear(Slot::attn_output, g.mul(o, gate), b.hidden);
}

TensorId delta_mixer(Blocks& b, const StateInputs& states, TensorId y) {
  Graph& g = b.g;
  const Shape::Ssm& m = b.shape.ssm;
  const int64_t n = b.sequences, ts = b.sequence_tokens;
  const int64_t key_dim = m.state, heads_k = m.groups, heads_v = m.heads;
  const int64_t value_dim = m.inner / heads_v;
  const int64_t channels = m.inner + 2 * heads_k * key_dim;
  const int64_t columns = m.conv - 1;
  const bool joint = b.has(Slot::ssm_ba);  // Qwen3-Next: beta and alpha in one matrix

  const TensorId mixed = g.reshape(b.linear(Slot::attn_qkv, y, channels), channels, ts, n);
  const TensorId z = b.linear(Slot::attn_gate, y, m.inner);
  TensorId beta, alpha;
  if (joint) {
    const int64_t per_key = heads_v / heads_k;
    const TensorId ba =
        g.reshape(b.linear(Slot::ssm_ba, y, 2 * heads_v), 2 * per_key, heads_k, ts, n);
    const Extents nb = g[ba].nb;
    const auto half = [&](int64_t at) {
      return g.view(ba, {per_key, heads_k, ts, n}, nb[1], nb[2], nb[3], at);
    };
    beta = g.reshape(g.unary(g.cont(half(0))), 1, heads_v, ts, n);
    alpha = g.cont_as(half(4 * per_key), heads_v, ts, n);
  } else {
    beta = g.unary(g.reshape(b.linear(Slot::ssm_beta, y, heads_v), 1, heads_v, ts, n));
    alpha = g.reshape(b.linear(Slot::ssm_alpha, y, heads_v), heads_v, ts, n);
  }
  TensorId gate = g.unary(g.add(alpha, b.weight(Slot::ssm_dt_bias, heads_v)));
  gate = g.mul(gate, b.weight(Slot::ssm_a, heads_v));
  gate = g.reshape(gate, 1, heads_v, ts, n);

  const LoadedState conv = b.load_state(states, 0, columns * channels);
  const TensorId past = g.reshape(conv.rows, columns, channels, n);
  const TensorId window = g.concat(past, g.transpose(mixed), 0);
  const int64_t size = columns * channels;
  const int64_t k_snap = b.snapshots;
  for (int64_t i = 1; i <= k_snap; ++i) {
    const int64_t newest = g[window].ne[0] - columns;
    const int64_t at = k_snap == 1 ? newest : std::max<int64_t>(0, newest - k_snap + i);
    const Extents wb = g[window].nb;
    const TensorId tail = g.view_3d(window, columns, channels, n, wb[1], wb[2], 4 * at);
    g.expand(g.copy_into(
        tail, g.view_2d(conv.store, size, n, g[conv.store].nb[1], (k_snap - i) * n * size * 4)));
  }
  const int64_t d = value_dim * value_dim * heads_v;
  const LoadedState loaded = b.load_state(states, 1, d);
  const TensorId state = g.reshape(loaded.rows, value_dim, value_dim, heads_v, n);
  TensorId mix = g.make(Op::ssm_conv, GgmlType::F32, {channels, ts, n, 1},
                        {window, b.weight(Slot::ssm_conv1d, m.conv, channels)});
  mix = g.unary(mix);
  const int64_t row = 4 * channels;
  const auto part = [&](int64_t dim, int64_t heads, int64_t at) {
    return g.view(mix, {dim, heads, ts, n}, 4 * dim, row, row * ts, at);
  };
  TensorId q = g.l2_norm(part(key_dim, heads_k, 0));
  TensorId k = g.l2_norm(part(key_dim, heads_k, 4 * key_dim * heads_k));
  const TensorId v = part(value_dim, heads_v, 8 * key_dim * heads_k);
  if (heads_k != heads_v) {
    if (joint) {
      const auto widen = [&](TensorId x) {
        const TensorId flat = g.reshape(x, key_dim, 1, heads_k, ts * n);
        const TensorId repeated = g.repeat(flat, key_dim, heads_v / heads_k, heads_k, ts * n);
        return g.reshape(repeated, key_dim, heads_v, ts, n);
      };
      q = widen(q);
      k = widen(k);
    } else if (!b.in.delta_one_token || !b.in.delta_many_tokens) {
      q = g.repeat(q, key_dim, heads_v, ts, n);
      k = g.repeat(k, key_dim, heads_v, ts, n);
    }
  }
  const bool fused = k_snap > 1 || b.in.delta_many_tokens || ts == 1;
  const DeltaRule rule = delta_rule(b, q, k, v, gate, beta, state, fused);
  const int64_t store_row = g[loaded.store].nb[1];
  const int64_t after = 4 * value_dim * heads_v * ts * n;  // the states follow the rows
  if (!fused) {
    g.expand(g.copy_into(rule.state, g.view_2d(loaded.store, d, n, store_row)));
  } else if (k_snap == 1) {
    const TensorId fresh = g.view(rule.result, {value_dim, value_dim, heads_v, n}, 4 * value_dim,
                                  4 * value_dim * value_dim, 4 * d, after);
    g.expand(g.copy_into(fresh, g.view_2d(loaded.store, d, n, store_row)));
  } else {
    const int64_t kept = std::min(ts, k_snap);
    const TensorId fresh = g.view_3d(rule.result, d, n, kept, 4 * d, 4 * d * n, after);
    g.expand(g.copy_into(fresh, g.view_3d(loaded.store, d, n, kept, store_row, n * 4 * d)));
  }
  TensorId o = b.norm(Slot::ssm_norm, rule.out);
  o = g.mul(o, g.unary(g.reshape(z, value_dim, heads_v, ts, n)));
  o = b.linear(Slot::ssm_out, g.reshape(o, value_dim * heads_v, ts, n), b.hidden);
  return g.reshape(o, b.hidden, ts * n);
}

TensorId feed_forward(Blocks& b, TensorId y) {
  Graph& g = b.g;
  const LayerShape& l = b.now();
  if (l.moe.experts == 0) return b.ffn(y, l.ffn_width);
  const TensorId routed = b.moe(y, {l.moe});
  if (l.moe.shared_width == 0) return routed;
  const TensorId shared = b.ffn_shared(y, l.moe.shared_width);
  if (!l.moe.shared_gate) return g.add(routed, shared);
  const TensorId gate = g.unary(g.mul_mat(b.weight(Slot::ffn_gate_inp_shexp, b.hidden), y));
  return g.add(routed, g.mul(shared, gate));
}

}  // namespace

void build_delta_net(Blocks& b) {
  Graph& g = b.g;
  const Shape& shape = b.shape;
  TensorId x = b.embed();
  const StateInputs states = b.state_inputs();
  const CacheInputs cache = b.cache_inputs(false);
  const TensorId positions = b.positions(shape.position_sections);
  const TensorId rows = b.row_ids();
  const bool late = b.rules.late_row_selection;
  const int32_t last = int32_t(shape.trunk_layers) - 1;
  for (int32_t i = 0; i <= last; ++i) {
    b.layer = i;
    TensorId residual = x;
    TensorId y = g.expand(b.norm(Slot::attn_norm, x));
    y = b.now().mixer == MixerKind::attention ? gated_attention(b, cache, y, positions)
                                              : delta_mixer(b, states, y);
    if (i == last && !late) {
      y = g.get_rows(y, rows);
      residual = g.get_rows(residual, rows);
    }
    const TensorId middle = g.add(y, residual);
    x = g.add(feed_forward(b, b.norm(Slot::post_attention_norm, middle)), middle);
  }
  Blocks::Head head;
  if (late) head.select = rows;
  b.head(x, head);
}

// One attention layer fed by the target's hidden state and the next token.
void build_delta_net_draft(Blocks& b) {
  Graph& g = b.g;
  const int64_t d = b.hidden, t = b.tokens;
  const TensorId ids = b.input(GgmlType::I32, t);
  const TensorId hidden_state = b.input(GgmlType::F32, d, t);
  const TensorId table = b.weight(Slot::token_embd, d, b.shape.vocab);
  g[table].memory = b.in.cpu;
  const TensorId embedded = g.get_rows(table, ids);
  const TensorId positions = b.positions(b.shape.position_sections);
  const TensorId rows = b.row_ids();
  const CacheInputs cache = b.cache_inputs(false);
  b.layer = int32_t(b.shape.layers.size()) - 1;
  const TensorId hn = b.norm(Slot::nextn_hnorm, hidden_state);
  const TensorId en = b.norm(Slot::nextn_enorm, embedded);
  const TensorId x = b.linear(Slot::nextn_eh_proj, g.concat(en, hn, 0), d);
  const TensorId y = b.norm(Slot::attn_norm, x);
  const LayerShape& l = b.now();
  const int64_t dim = l.key_dim, heads = l.heads;
  const TensorId both = b.linear(Slot::attn_q, y, 2 * heads * dim);
  Blocks::Attention a;
  a.q = g.rope(b.norm(Slot::attn_q_norm, g.view_3d(both, dim, heads, t, 8 * dim, 8 * dim * heads)),
               positions);
  const TensorId gate =
      g.cont_as(g.view_3d(both, dim, heads, t, 8 * dim, 8 * dim * heads, 4 * dim), dim * heads, t);
  a.k = b.heads_of(b.linear(Slot::attn_k, y, l.kv_heads * dim), dim, l.kv_heads);
  a.k = g.rope(b.norm(Slot::attn_k_norm, a.k), positions);
  a.v = b.heads_of(b.linear(Slot::attn_v, y, l.kv_heads * l.value_dim), l.value_dim, l.kv_heads);
  a.project = Blocks::Project::no;
  const TensorId o = g.mul(b.attention(cache, a), g.unary(gate));
  const TensorId middle = g.add(b.linear(Slot::attn_output, o, d), x);
  const TensorId out = g.add(feed_forward(b, b.norm(Slot::post_attention_norm, middle)), middle);
  b.head(out, {rows, Blocks::Select::after_norm});
}

void build_kimi(Blocks& b) {
  Graph& g = b.g;
  const Shape& shape = b.shape;
  const Shape::Latent& m = shape.latent;
  const int64_t t = b.tokens, n = b.sequences, ts = b.sequence_tokens, d = b.hidden;
  const int64_t dim = shape.kimi.dim, heads = shape.kimi.heads, inner = heads * dim;
  const int64_t conv = shape.kimi.conv, columns = conv - 1;
  TensorId x = b.embed();
  const StateInputs states = b.state_inputs();
  const CacheInputs cache = b.cache_inputs(false, true);
  const TensorId rows = b.row_ids();

  const auto latent_attention = [&](TensorId y) {
    const LayerShape& l = b.now();
    const int64_t head_dim = m.nope + m.rope;
    const TensorId q = b.linear(Slot::attn_q, y, l.heads * head_dim);
    const int64_t q_row = 4 * head_dim;
    TensorId q_nope = g.view_3d(q, m.nope, l.heads, t, q_row, q_row * l.heads);
    const TensorId q_rope = g.view_3d(q, m.rope, l.heads, t, q_row, q_row * l.heads, 4 * m.nope);
    const TensorId kv = b.linear(Slot::attn_kv_a_mqa, y, m.kv_rank + m.rope);
    const int64_t row = 4 * (m.kv_rank + m.rope);
    const TensorId k_rope = g.view_3d(kv, m.rope, 1, t, row, row, 4 * m.kv_rank);
    TensorId compressed = b.norm(Slot::attn_kv_a_norm, g.view_2d(kv, m.kv_rank, t, row));
    q_nope = g.mul_mat(b.weight(Slot::attn_k_b, m.nope, m.kv_rank, l.heads),
                       g.permute(q_nope, 0, 2, 1, 3));
    q_nope = g.permute(q_nope, 0, 2, 1, 3);
    const TensorId query = g.concat(q_nope, q_rope, 0);
    compressed = g.reshape(compressed, m.kv_rank, 1, t);
    const TensorId key = g.concat(compressed, k_rope, 0);
    return b.attention_keys_only(cache, query, key, compressed,
                                 b.weight(Slot::attn_v_b, m.kv_rank, m.value, l.heads), cache.mask);
  };

  const auto delta_attention = [&](TensorId y) {
    const int64_t size = columns * inner;
    const LoadedState past = b.load_state(states, 0, 3 * size);
    const auto convolved = [&](int64_t i, Slot projection, Slot kernel) {
      const TensorId state =
          g.view_3d(past.rows, columns, inner, n, columns * 4, 3 * size * 4, i * size * 4);
      const TensorId in = g.reshape(b.linear(projection, y, inner), inner, ts, n);
      const TensorId window = g.concat(state, g.transpose(in), 0);
      const Extents wb = g[window].nb;
      const TensorId tail = g.view_3d(window, columns, inner, n, wb[1], wb[2], ts * 4);
      g.expand(g.copy_into(
          tail, g.view_3d(past.store, columns, inner, n, columns * 4, 3 * size * 4, i * size * 4)));
      const TensorId w = g.reshape(b.weight(kernel, conv, 1, inner), conv, inner);
      const TensorId o = g.make(Op::ssm_conv, GgmlType::F32, {inner, ts, n, 1}, {window, w});
      return g.reshape(g.unary(g.reshape(o, inner, t)), dim, heads, ts, n);
    };
    const TensorId q = convolved(0, Slot::attn_q, Slot::ssm_conv1d_q);
    const TensorId k = convolved(1, Slot::attn_k, Slot::ssm_conv1d_k);
    const TensorId v = convolved(2, Slot::attn_v, Slot::ssm_conv1d_v);
    TensorId gate = b.linear(Slot::ssm_f_b, b.linear(Slot::ssm_f_a, y, dim), inner);
    gate = g.unary(g.add(gate, b.weight(Slot::ssm_dt_bias, inner)));
    const TensorId decay = g.reshape(b.weight(Slot::ssm_a, 1, heads), 1, heads, 1);
    gate = g.reshape(g.mul(g.reshape(gate, dim, heads, t), decay), dim, heads, ts, n);
    const TensorId beta = g.unary(g.reshape(b.linear(Slot::ssm_beta, y, heads), 1, heads, ts, n));
    const LoadedState loaded = b.load_state(states, 1, dim * dim * heads);
    const TensorId state = g.reshape(loaded.rows, dim, dim, heads, n);
    const bool fused = b.in.delta_many_tokens || ts == 1;
    const DeltaRule rule = delta_rule(b, g.l2_norm(q), g.l2_norm(k), v, gate, beta, state, fused);
    const TensorId out = g.cont(rule.out);
    const TensorId fresh = fused ? g.view(rule.result, {dim, dim, heads, n}, 4 * dim, 4 * dim * dim,
                                          4 * dim * dim * heads, 4 * dim * heads * ts * n)
                                 : rule.state;
    g.expand(g.copy_into(fresh, g.view_1d(loaded.store, dim * dim * heads * n)));
    const TensorId flat = g.reshape(g.reshape(y, d, ts, n), d, t);
    TensorId gate_out = b.linear(Slot::ssm_g_b, b.linear(Slot::ssm_g_a, flat, dim), inner);
    gate_out = g.reshape(gate_out, dim, heads, t);
    const TensorId o =
        g.mul(b.norm(Slot::ssm_norm, g.reshape(out, dim, heads, t)), g.unary(gate_out));
    return b.linear(Slot::attn_output, g.cont_as(o, inner, t), d);
  };

  const int32_t last = int32_t(shape.trunk_layers) - 1;
  for (int32_t i = 0; i <= last; ++i) {
    b.layer = i;
    const LayerShape& l = b.now();
    TensorId residual = x;
    TensorId y = g.expand(b.norm(Slot::attn_norm, x));
    y = l.mixer == MixerKind::latent ? latent_attention(y) : delta_attention(y);
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
