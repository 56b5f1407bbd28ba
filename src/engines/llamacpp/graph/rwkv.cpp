// RWKV-7: time mix with low-rank decay, rate, value and gate, then channel mix.
// Source: ggml-org/llama.cpp src/models/rwkv7.cpp, rwkv7-base.cpp.
#include "engines/llamacpp/graph/families.h"

namespace vramwise::engines::llamacpp {

void build_rwkv7(Blocks& b) {
  Graph& g = b.g;
  const Shape& shape = b.shape;
  const Shape::Rwkv& m = shape.rwkv;
  const int64_t d = b.hidden, t = b.tokens, n = b.sequences, ts = b.sequence_tokens;
  const int64_t size = m.head_size, heads = d / size;
  TensorId x = b.embed();
  b.layer = 0;
  {
    // The embedding is normalised once; the weights belong to no layer but lie with the first.
    const TensorId y = g.like_first(Op::norm, {x});
    if (b.in.pins && (b.in.full_offload || t < 32)) g[y].device = b.in.layer_device[0];
    x = g.add(g.mul(y, b.weight(Slot::token_embd_norm, d)),
              b.weight(Slot::token_embd_norm_bias, d));
  }
  const StateInputs states = b.state_inputs();
  const TensorId rows = b.row_ids();
  const auto low_rank = [&](Slot up, Slot down, int64_t rank, TensorId in, bool act) {
    TensorId y = g.mul_mat(b.weight(down, d, rank), in);
    if (act) y = g.unary(y);
    return g.mul_mat(b.weight(up, rank, d), y);
  };

  TensorId first_value = kNoTensor;
  const int32_t last = int32_t(shape.trunk_layers) - 1;
  for (int32_t i = 0; i <= last; ++i) {
    b.layer = i;
    const LayerShape& l = b.now();
    x = g.reshape(x, d, ts, n);
    const LoadedState shift = b.load_state(states, 0, m.shifts * d);
    const TensorId shifts = g.reshape(shift.rows, d, m.shifts, n);
    const Extents sb = g[shifts].nb;
    const TensorId attention_shift = g.view_3d(shifts, d, 1, n, sb[1], sb[2]);
    const TensorId ffn_shift = g.view_3d(shifts, d, 1, n, sb[1], sb[2], d * 4);
    const auto previous = [&](TensorId before, TensorId now) {
      const Extents nb = g[now].nb;
      return g.concat(before, g.view_3d(now, d, ts - 1, n, nb[1], nb[2]), 1);
    };

    const TensorId an = b.layer_norm(Slot::attn_norm, Slot::attn_norm_bias, x);
    TensorId xp = previous(attention_shift, an);
    const TensorId sx = g.repeat(g.sub(xp, an), d, ts, n, 6);
    const TensorId mixed = g.add(g.mul(sx, b.weight(Slot::time_mix_lerp, d, 1, 1, 6)), an);
    const auto part = [&](int64_t which) {
      return g.view_2d(mixed, d, t, g[mixed].nb[1], which * d * t * 4);
    };
    TensorId r = b.linear(Slot::time_mix_receptance, part(0), d);
    TensorId w = g.add(low_rank(Slot::time_mix_w2, Slot::time_mix_w1, m.decay_rank, part(1), true),
                       b.weight(Slot::time_mix_w0, d));
    w = g.unary(g.scale(g.unary(w)));
    TensorId k = b.linear(Slot::time_mix_key, part(2), d);
    const TensorId xv = part(3);
    TensorId v = b.linear(Slot::time_mix_value, xv, d);
    if (first_value == kNoTensor) {
      first_value = v;
    } else {
      const TensorId share =
          g.unary(g.add(low_rank(Slot::time_mix_v2, Slot::time_mix_v1, m.value_rank, xv, false),
                        b.weight(Slot::time_mix_v0, d)));
      v = g.add(v, g.mul(g.sub(first_value, v), share));
    }
    // The gate: the activation sits between the two matrices.
    const TensorId gate =
        low_rank(Slot::time_mix_g2, Slot::time_mix_g1, m.gate_rank, part(5), true);
    TensorId a =
        g.unary(g.add(low_rank(Slot::time_mix_a2, Slot::time_mix_a1, m.rate_rank, part(4), false),
                      b.weight(Slot::time_mix_a0, d)));
    const TensorId kk =
        g.l2_norm(g.reshape(g.mul(k, b.weight(Slot::time_mix_k_k, d)), size, heads, t));
    const TensorId ka = g.mul(k, b.weight(Slot::time_mix_k_a, d));
    k = g.add(k, g.sub(g.mul(a, ka), ka));
    r = g.reshape(r, size, heads, t);
    w = g.reshape(w, size, heads, t);
    k = g.reshape(k, size, heads, t);
    v = g.reshape(v, size, heads, t);
    a = g.reshape(a, size, heads, t);

    const LoadedState wkv = b.load_state(states, 1, d * size);
    const TensorId out = g.make(Op::rwkv_wkv7, GgmlType::F32, {d, t + size * n, 1, 1},
                                {r, w, k, v, g.unary(kk), g.mul(kk, a), wkv.rows});
    TensorId y = g.view_1d(out, d * t);
    g.expand(
        g.copy_into(g.view_1d(out, d * size * n, d * t * 4), g.view_1d(wkv.store, d * size * n)));
    y = g.reshape(g.like_first(Op::norm, {g.reshape(y, size, heads, t)}), d, t);
    y = g.add(g.mul(y, b.weight(Slot::time_mix_ln, d)), b.weight(Slot::time_mix_ln_bias, d));
    const TensorId rk =
        g.sum_rows(g.mul(g.mul(k, r), g.reshape(b.weight(Slot::time_mix_r_k, d), size, heads)));
    y = g.add(y, g.reshape(g.mul(v, rk), d, t));
    y = g.reshape(b.linear(Slot::time_mix_output, g.mul(y, gate), d), d, ts, n);

    TensorId middle = g.add(y, x);
    TensorId fn = b.layer_norm(Slot::attn_norm_2, Slot::attn_norm_2_bias, middle);
    xp = previous(ffn_shift, fn);
    const auto newest = [&](TensorId z) {
      const Extents nb = g[z].nb;
      return g.view_3d(z, d, 1, n, nb[1], nb[2], (ts - 1) * d * 4);
    };
    const TensorId kept = g.concat(newest(an), newest(fn), 1);
    g.expand(
        g.copy_into(g.view_1d(kept, m.shifts * d * n), g.view_1d(shift.store, m.shifts * d * n)));
    middle = g.reshape(middle, d, t);
    fn = g.reshape(fn, d, t);
    xp = g.reshape(xp, d, t);
    if (i == last) {
      middle = g.get_rows(middle, rows);
      fn = g.get_rows(fn, rows);
      xp = g.get_rows(xp, rows);
    }
    const TensorId xk = g.add(g.mul(g.sub(xp, fn), b.weight(Slot::channel_mix_lerp_k, d)), fn);
    const TensorId hidden = b.relu_squared(b.linear(Slot::channel_mix_key, xk, l.ffn_width));
    x = g.add(b.linear(Slot::channel_mix_value, hidden, d), middle);
  }
  Blocks::Head head;
  head.norm = model::NormKind::layer_norm_bias;
  b.head(x, head);
}

}  // namespace vramwise::engines::llamacpp
