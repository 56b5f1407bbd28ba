// Gemma 3n (AltUp streams, Laurel) and Gemma 4 (two head sizes, shared caches, per-layer inputs).
// Source: ggml-org/llama.cpp src/models/gemma3n.cpp, gemma4.cpp.
#include <array>

#include "engines/llamacpp/graph/families.h"

namespace vramwise::engines::llamacpp {
namespace {

// Length of each token's vector.
TensorId magnitude(Graph& g, TensorId x) { return g.sqrt(g.sum_rows(g.sqr(x))); }

// q of a layer that has its own cache, or reads an earlier one's.
TensorId query(Blocks& b, TensorId y, TensorId positions, TensorId factors) {
  const LayerShape& l = b.now();
  const TensorId q = b.heads_of(b.linear(Slot::attn_q, y, l.heads * l.key_dim), l.key_dim, l.heads);
  return b.g.rope(b.norm(Slot::attn_q_norm, q), positions, factors);
}

TensorId experts_beside_dense(Blocks& b, TensorId x) {
  Graph& g = b.g;
  const LayerShape& l = b.now();
  const TensorId dense =
      b.norm(Slot::post_ffw_norm_1, b.ffn(b.norm(Slot::ffn_norm, x), l.ffn_width));
  const TensorId y = b.norm(Slot::pre_ffw_norm_2, x);
  const TensorId routed =
      g.mul(g.scale(g.rms_norm(x)), b.weight(Slot::ffn_gate_inp_scale, b.hidden));
  MoeCall call{l.moe};
  call.logits = g.mul_mat(b.weight(Slot::ffn_gate_inp, b.hidden, l.moe.experts), routed);
  const TensorId sparse = b.norm(Slot::post_ffw_norm_2, b.moe(y, call));
  return g.add(dense, sparse);
}

}  // namespace

void build_gemma4(Blocks& b) {
  Graph& g = b.g;
  const Shape& shape = b.shape;
  TensorId x = g.scale(b.embed());
  const TensorId positions = b.positions();
  const std::array<CacheInputs, 2> cache = {b.cache_inputs(false), b.cache_inputs(true)};
  const TensorId rows = b.row_ids();
  const int64_t width = shape.per_layer.width;
  const TensorId per_layer = width > 0 ? b.per_layer_inputs(x) : kNoTensor;

  for (int32_t i = 0; i < int32_t(shape.trunk_layers); ++i) {
    b.layer = i;
    const LayerShape& l = b.now();
    const TensorId factors = l.sliding ? kNoTensor : b.rope_factors(l.key_dim);
    const TensorId normed = b.norm(Slot::attn_norm, x);
    Blocks::Attention a;
    a.q = query(b, normed, positions, factors);
    if (l.cache_of == i) {
      const TensorId keys = b.linear(Slot::attn_k, normed, l.kv_heads * l.key_dim);
      const TensorId values =
          l.value_is_key ? keys : b.linear(Slot::attn_v, normed, l.kv_heads * l.value_dim);
      a.k = b.heads_of(keys, l.key_dim, l.kv_heads);
      a.v = b.heads_of(values, l.value_dim, l.kv_heads);
      a.k = g.rope(b.norm(Slot::attn_k_norm, a.k), positions, factors);
      a.v = g.rms_norm(a.v);
    }
    TensorId y = b.attention(cache[l.sliding ? 1 : 0], a);
    y = b.norm(Slot::post_attention_norm, y);
    const TensorId middle = g.add(y, x);
    y = l.moe.experts > 0 ? experts_beside_dense(b, middle)
                          : b.ffn(b.norm(Slot::ffn_norm, middle), l.ffn_width);
    y = g.add(b.norm(Slot::post_ffw_norm, y, Blocks::Pin::no), middle);
    if (per_layer != kNoTensor) {
      TensorId z = g.unary(b.linear(Slot::inp_gate, y, width));
      z = g.mul(z, g.plane(per_layer, i));
      z = b.norm(Slot::post_norm, b.linear(Slot::proj, z, b.hidden));
      y = g.add(y, z);
    }
    if (l.output_scale) y = g.mul(y, b.weight(Slot::layer_output_scale, 1));
    x = y;
  }
  // Source: src/models/gemma4.cpp, llm_graph_input_logits_bias (ggml-org/llama.cpp#24077, #26276).
  b.head(x, {rows, Blocks::Select::after_norm, shape.logit_softcap,
             shape.suppresses_tokens && b.rules.suppresses_in_graph});
}

void build_gemma3n(Blocks& b) {
  Graph& g = b.g;
  const Shape& shape = b.shape;
  const int64_t d = b.hidden, t = b.tokens;
  const int64_t streams = shape.per_layer.streams, width = shape.per_layer.width;
  const int64_t active = 0;  // the stream that the layers work on

  TensorId x = g.scale(b.embed());
  const TensorId positions = b.positions();
  const std::array<CacheInputs, 2> cache = {b.cache_inputs(false), b.cache_inputs(true)};
  const TensorId per_layer = b.per_layer_inputs(x);

  const TensorId target = magnitude(g, x);
  TensorId added =
      g.mul_mat(b.weight(Slot::altup_proj, d, d, streams - 1), g.repeat(x, d, t, streams - 1));
  added = g.div(g.mul(added, target), magnitude(g, added));
  x = g.concat(x, added, 2);

  const auto router = [&](TensorId v) {
    const TensorId r = g.scale(b.norm(Slot::altup_router_norm, v));
    return g.unary(g.mul_mat(b.weight(Slot::altup_router, d, streams), r));
  };
  const auto others = [&](TensorId v) {
    return g.view_3d(v, d, t, streams - 1, 4 * d, 4 * d * t, 4 * d * t);
  };

  for (int32_t i = 0; i < int32_t(shape.trunk_layers); ++i) {
    b.layer = i;
    const LayerShape& l = b.now();
    // AltUp: predict every stream from all of them.
    const TensorId modalities = router(g.plane(x, active));
    const TensorId coefficients = g.reshape(
        g.mul_mat(b.weight(Slot::altup_predict_coef, streams, streams * streams), modalities),
        streams, streams, t);
    const Extents xn = g[x].ne;
    TensorId predicted = g.cont_as(g.permute(x, 1, 2, 0, 3), xn[2], xn[0], xn[1]);
    predicted = g.mul_mat(predicted, coefficients);
    predicted = g.cont(g.permute(predicted, 0, 2, 1, 3));
    predicted = g.add(predicted, x);
    const TensorId current = g.plane(predicted, active);

    TensorId y = b.norm(Slot::attn_norm, current);
    TensorId laurel =
        b.linear(Slot::laurel_r, b.linear(Slot::laurel_l, y, shape.per_layer.rank), d);
    laurel = g.add(b.norm(Slot::laurel_post_norm, laurel), y);
    Blocks::Attention a;
    if (l.cache_of == i) {
      const TensorId q = b.linear(Slot::attn_q, y, l.heads * l.key_dim);
      const TensorId k = b.linear(Slot::attn_k, y, l.kv_heads * l.key_dim);
      const TensorId v = b.linear(Slot::attn_v, y, l.kv_heads * l.value_dim);
      a.q = g.rope(b.norm(Slot::attn_q_norm, b.heads_of(q, l.key_dim, l.heads)), positions);
      a.k = g.rope(b.norm(Slot::attn_k_norm, b.heads_of(k, l.key_dim, l.kv_heads)), positions);
      a.v = g.rms_norm(b.heads_of(v, l.value_dim, l.kv_heads));
    } else {
      a.q = query(b, y, positions, kNoTensor);
    }
    y = b.attention(cache[l.sliding ? 1 : 0], a);
    y = g.add(b.norm(Slot::post_attention_norm, y), current);
    const TensorId attended = g.scale(g.add(y, laurel));

    y = b.norm(Slot::ffn_norm, attended);
    const TensorId up = b.linear(Slot::ffn_up, y, l.ffn_width);
    TensorId gate = b.linear(Slot::ffn_gate, y, l.ffn_width);
    if (i < shape.per_layer.sparse_layers) {
      const TensorId mean = g.sum_rows(gate, Op::mean);
      const TensorId deviation = g.sqrt(g.scale(g.sum_rows(g.sqr(g.sub(gate, mean)))));
      gate = g.unary(g.sub(gate, g.add(mean, g.scale(deviation))));
    }
    y = b.linear(Slot::ffn_down, g.mul(up, g.unary(gate)), d);
    y = g.add(b.norm(Slot::post_ffw_norm, y, Blocks::Pin::no), attended);

    // AltUp: correct the predictions by what the active stream became.
    const TensorId correction = router(y);
    const TensorId innovation = g.sub(y, g.plane(predicted, active));
    TensorId weights =
        g.scale(g.mul_mat(b.weight(Slot::altup_correct_coef, streams, streams), correction));
    weights = g.cont_as(g.transpose(weights), 1, t, streams);
    const TensorId corrected =
        g.add(g.mul(g.repeat(innovation, d, t, streams), weights), predicted);
    TensorId first = g.mul(g.plane(corrected, active), b.weight(Slot::altup_correct_scale, d));
    first = g.unary(b.linear(Slot::inp_gate, first, width));
    first = g.mul(first, g.plane(per_layer, i));
    first = b.norm(Slot::post_norm, b.linear(Slot::proj, first, d));
    x = g.concat(g.plane(corrected, 0), g.add(others(corrected), first), 2);
  }

  b.layer = -1;
  const TensorId length = magnitude(g, g.plane(x, active));
  TensorId unembedded = g.mul_mat(b.weight(Slot::altup_unembd_proj, d, d, streams - 1), others(x));
  unembedded = g.div(g.mul(unembedded, length), magnitude(g, unembedded));
  TensorId y = g.plane(x, 0);
  for (int64_t i = 0; i + 1 < streams; ++i) y = g.add(y, g.plane(unembedded, i));
  y = g.get_rows(g.scale(y), b.row_ids());
  Blocks::Head head;
  head.softcap = shape.logit_softcap;
  b.head(y, head);
}

}  // namespace vramwise::engines::llamacpp
