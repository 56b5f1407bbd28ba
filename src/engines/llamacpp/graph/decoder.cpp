// Plain decoders: attention (or a norm less of it), feed-forward or experts, for every layer.
// Source: ggml-org/llama.cpp src/models/llama.cpp, qwen3.cpp, gemma3.cpp, openai-moe.cpp,
// llama4.cpp, glm4-moe.cpp, minimax-m2.cpp, phi3.cpp, cohere2.cpp, olmo2.cpp and their like.
#include <array>

#include "engines/llamacpp/graph/families.h"

namespace vramwise::engines::llamacpp {
namespace {

struct Inputs {
  TensorId positions = kNoTensor, temperature = kNoTensor, rows = kNoTensor;
  std::array<CacheInputs, 2> cache;  // full, sliding
};

struct Projections {
  TensorId q, k, v;
};

Projections project(Blocks& b, TensorId y) {
  Graph& g = b.g;
  const LayerShape& l = b.now();
  if (l.fused_qkv) {
    const int64_t dim = l.key_dim;
    const TensorId all =
        b.linear_maybe(Slot::attn_qkv, Slot::attn_qkv_bias, y, dim * (l.heads + 2 * l.kv_heads));
    const int64_t row = g[all].nb[1];
    const auto part = [&](int64_t heads, int64_t at) {
      return g.view_3d(all, dim, heads, b.tokens, 4 * dim, row, 4 * at);
    };
    return {part(l.heads, 0), part(l.kv_heads, dim * l.heads),
            part(l.kv_heads, dim * (l.heads + l.kv_heads))};
  }
  TensorId q = b.linear_maybe(Slot::attn_q, Slot::attn_q_bias, y, l.heads * l.key_dim);
  TensorId k = b.linear_maybe(Slot::attn_k, Slot::attn_k_bias, y, l.kv_heads * l.key_dim);
  const TensorId v = b.linear_maybe(Slot::attn_v, Slot::attn_v_bias, y, l.kv_heads * l.value_dim);
  if (l.qk_norm == model::QkNorm::full_width) {
    q = b.norm(Slot::attn_q_norm, q);
    k = b.norm(Slot::attn_k_norm, k);
  }
  return {b.heads_of(q, l.key_dim, l.heads), b.heads_of(k, l.key_dim, l.kv_heads),
          b.heads_of(v, l.value_dim, l.kv_heads)};
}

TensorId attention(Blocks& b, TensorId y, const Inputs& in) {
  Graph& g = b.g;
  const LayerShape& l = b.now();
  const TensorId factors = b.rope_factors(l.key_dim);
  auto [q, k, v] = project(b, y);
  if (l.qk_norm == model::QkNorm::per_head) {
    q = b.norm(Slot::attn_q_norm, q);
    k = b.norm(Slot::attn_k_norm, k);
  }
  if (l.temperature) {
    q = g.mul(q, in.temperature);
  } else if (l.rope) {
    q = g.rope(q, in.positions, factors);
    k = g.rope(k, in.positions, factors);
    if (l.qk_norm == model::QkNorm::weightless) {
      q = g.rms_norm(q);
      k = g.rms_norm(k);
    }
  }
  if (l.position_scaled) q = g.mul(q, in.temperature);
  if (l.query_scaled) q = g.scale(q);
  const TensorId sinks = l.sinks ? b.weight(Slot::attn_sinks, l.heads) : kNoTensor;
  return b.attention(in.cache[l.sliding ? 1 : 0], {q, k, v, sinks, l.score_softcap});
}

TensorId feed_forward(Blocks& b, TensorId y) {
  const LayerShape& l = b.now();
  if (l.moe.experts == 0) return l.ffn_width > 0 ? b.ffn_plain(y) : y;
  TensorId out = b.moe(y, {l.moe});
  if (l.moe.shared_width > 0) {
    TensorId shared = b.ffn_shared(y, l.moe.shared_width);
    if (l.moe.shared_gate) {
      const TensorId gate = b.g.unary(b.g.mul_mat(b.weight(Slot::ffn_gate_inp_shexp, b.hidden), y));
      shared = b.g.mul(shared, gate);
    }
    out = b.g.add(out, shared);
  }
  return out;
}

// The feed-forward's norm goes by either name.
Slot ffn_norm_slot(const Blocks& b) {
  return b.has(Slot::ffn_norm) ? Slot::ffn_norm : Slot::post_attention_norm;
}

}  // namespace

void build_decoder(Blocks& b) {
  Graph& g = b.g;
  const Shape& shape = b.shape;
  TensorId x = b.embed();
  if (shape.embedding_scaled) x = g.scale(x);
  Inputs in;
  in.positions = b.positions(shape.position_sections);
  bool temperature = false;
  for (const LayerShape& l : shape.layers) temperature |= l.temperature || l.position_scaled;
  if (temperature) in.temperature = b.input(GgmlType::F32, 1, 1, b.tokens);
  in.cache[0] = b.cache_inputs(false);
  if (shape.has_sliding()) in.cache[1] = b.cache_inputs(true);
  in.rows = b.row_ids();

  const Family& family = family_of(shape.architecture);
  const bool late = family.late_rows && b.rules.late_row_selection;
  const int32_t last = int32_t(shape.trunk_layers) - 1;
  for (int32_t i = 0; i <= last; ++i) {
    b.layer = i;
    const LayerShape& l = b.now();
    TensorId residual = x;
    TensorId y = l.pre_norm ? b.norm_of_kind(l.norm, Slot::attn_norm, Slot::attn_norm_bias, x) : x;
    TensorId normed = y;
    if (l.mixer == MixerKind::attention) y = attention(b, y, in);
    if (i == last && !late) {
      y = g.get_rows(y, in.rows);
      residual = g.get_rows(residual, in.rows);
      if (l.parallel) normed = g.get_rows(normed, in.rows);
    }
    if (l.post_attention_norm) y = b.norm(Slot::post_attention_norm, y);
    if (shape.residual_scaled) y = g.scale(y);
    if (l.parallel) {
      const TensorId f = feed_forward(b, normed);
      x = g.add(g.add(f, residual), y);
      continue;
    }
    const TensorId middle = g.add(y, residual);
    y = l.pre_norm ? b.norm_of_kind(l.norm, ffn_norm_slot(b), Slot::ffn_norm_bias, middle) : middle;
    y = feed_forward(b, y);
    if (l.post_ffn_norm) y = b.norm(Slot::post_ffw_norm, y, Blocks::Pin::no);
    if (shape.residual_scaled) y = g.scale(y);
    x = family.residual_first ? g.add(middle, y) : g.add(y, middle);
  }
  Blocks::Head head;
  head.softcap = shape.logit_softcap;
  head.norm = shape.layers.empty() ? model::NormKind::rms : shape.layers.back().norm;
  if (late) {
    head.select = in.rows;
    head.when = Blocks::Select::before_norm;
  }
  b.head(x, head);
}

}  // namespace vramwise::engines::llamacpp
