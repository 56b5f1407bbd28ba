// LFM2: short convolutions between attention layers.
// Source: ggml-org/llama.cpp src/models/lfm2.cpp.
#include "engines/llamacpp/graph/families.h"

namespace vramwise::engines::llamacpp {

void build_short_conv(Blocks& b) {
  Graph& g = b.g;
  const Shape& shape = b.shape;
  const int64_t d = b.hidden, n = b.sequences, ts = b.sequence_tokens;
  const int64_t columns = shape.short_conv - 1;
  TensorId x = b.embed();
  const StateInputs states = b.state_inputs();
  const CacheInputs cache = b.cache_inputs(false);
  const TensorId positions = b.positions();
  const TensorId rows = b.row_ids();
  const int32_t last = int32_t(shape.trunk_layers) - 1;

  for (int32_t i = 0; i <= last; ++i) {
    b.layer = i;
    const LayerShape& l = b.now();
    TensorId residual = x;
    TensorId y = b.norm(Slot::attn_norm, x);
    if (l.mixer == MixerKind::attention) {
      const TensorId q = b.linear(Slot::attn_q, y, l.heads * l.key_dim);
      const TensorId k = b.linear(Slot::attn_k, y, l.kv_heads * l.key_dim);
      const TensorId v = b.linear(Slot::attn_v, y, l.kv_heads * l.value_dim);
      Blocks::Attention a;
      a.q = g.rope(b.norm(Slot::attn_q_norm, b.heads_of(q, l.key_dim, l.heads)), positions);
      a.k = g.rope(b.norm(Slot::attn_k_norm, b.heads_of(k, l.key_dim, l.kv_heads)), positions);
      a.v = b.heads_of(v, l.value_dim, l.kv_heads);
      y = b.attention(cache, a);
    } else {
      const TensorId bcx =
          g.mul_mat(b.weight(Slot::shortconv_in, d, 3 * d), g.reshape(y, d, ts, n));
      const Extents nb = g[bcx].nb;
      const auto part = [&](int64_t which) {
        return g.view_3d(bcx, d, ts, n, nb[1], nb[2], which * d * 4);
      };
      const TensorId bx = g.transpose(g.mul(part(0), part(2)));
      const LoadedState past = b.load_state(states, 0, d * columns);
      const TensorId window = g.concat(g.reshape(past.rows, columns, d, n), bx, 0);
      const Extents wb = g[window].nb;
      const TensorId tail = g.view_3d(window, columns, d, n, wb[1], wb[2], ts * 4);
      g.expand(g.copy_into(tail, g.view_1d(past.store, columns * d * n)));
      const TensorId conv = g.make(Op::ssm_conv, GgmlType::F32, {d, ts, n, 1},
                                   {window, b.weight(Slot::shortconv_conv, columns + 1, d)});
      y = g.reshape(b.linear(Slot::shortconv_out, g.mul(part(1), conv), d), d, ts * n);
    }
    if (i == last) {
      y = g.get_rows(y, rows);
      residual = g.get_rows(residual, rows);
    }
    const TensorId middle = g.add(residual, y);
    y = b.norm(Slot::ffn_norm, middle);
    y = l.moe.experts > 0 ? b.moe(y, {l.moe}) : b.ffn(y, l.ffn_width);
    x = g.add(middle, y);
  }
  b.head(x, {});
}

}  // namespace vramwise::engines::llamacpp
