#include "engines/llamacpp/graph/blocks.h"

#include <algorithm>

#include "base/checked.h"

namespace vramwise::engines::llamacpp {
namespace {

// Attention caches of a layer: keys, values, indexer keys; then convolution and state.
enum CacheKind { kKeys, kValues, kIndexer, kConvolution, kState, kCacheKinds };

constexpr int64_t kFloat = 4;

// Largest power of two from 64 on that divides the head size. Source: src/llama-kv-cache.cpp.
int64_t rotation_width(int64_t head_dim) {
  int64_t n = 64;
  while (head_dim % (2 * n) == 0) n *= 2;
  return n;
}

}  // namespace

GraphInput GraphInput::with_batch(int64_t tokens_per_sequence) const {
  GraphInput probe = *this;
  probe.size.sequence_tokens = tokens_per_sequence;
  probe.size.tokens = probe.size.rows = saturating_multiply(tokens_per_sequence, size.sequences);
  return probe;
}

Blocks::Blocks(Graph& graph, const GraphInput& input)
    : g(graph),
      in(input),
      shape(*input.shape),
      rules(*input.rules),
      hidden(shape.hidden),
      tokens(input.size.tokens),
      sequences(input.size.sequences),
      sequence_tokens(input.size.sequence_tokens),
      rows(input.size.rows),
      streams(input.size.streams),
      flash(input.settings.flash),
      snapshots(1 + (shape.keeps_rollback ? input.settings.rollback : 0)),
      weight_ids_(input.weights->size(), kNoTensor),
      cache_ids_(shape.layers.size() * kCacheKinds, kNoTensor) {}

// ---- leaves

TensorId Blocks::input(GgmlType type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
  const TensorId id = g.make(Op::none, type, {ne0, ne1, ne2, ne3});
  g[id].input = true;
  return id;
}

TensorId Blocks::weight(Slot slot, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
  TensorId& known = weight_ids_[size_t(layer + 1) * kSlots + size_t(slot)];
  if (known != kNoTensor) return known;
  const WeightTable::Entry& entry = in.weights->at(slot, layer);
  const bool vector = (ne0 > 1) + (ne1 > 1) + (ne2 > 1) + (ne3 > 1) <= 1;
  GgmlType type = vector ? GgmlType::F32 : entry.type;
  if (ne0 % block_elements(type) != 0) type = GgmlType::F16;
  known = g.make(Op::none, type, {ne0, ne1, ne2, ne3});
  Tensor& t = g[known];
  t.weight = true;
  const int16_t home = layer >= 0 ? in.layer_device[size_t(layer)] : in.output_device;
  t.memory = entry.device >= 0 ? entry.device : home;
  return known;
}

TensorId Blocks::rope_factors(int64_t head_dim) {
  if (!now().rope_factors) return kNoTensor;
  // One copy for each device, shared by its layers.
  const int16_t device = in.layer_device[size_t(layer)];
  for (int32_t i = 0; i < layer; ++i) {
    if (in.layer_device[size_t(i)] != device) continue;
    const TensorId shared = weight_ids_[size_t(i + 1) * kSlots + size_t(Slot::rope_freqs)];
    if (shared != kNoTensor) return shared;
  }
  return weight(Slot::rope_freqs, head_dim / 2);
}

TensorId Blocks::cache_tensor(int kind, int32_t of_layer, GgmlType type, int64_t ne0, int64_t ne1,
                              int64_t ne2) {
  TensorId& known = cache_ids_[size_t(of_layer) * kCacheKinds + size_t(kind)];
  if (known != kNoTensor) return known;
  known = g.make(Op::none, type, {ne0, ne1, ne2, 1});
  g[known].memory = in.settings.kv_offload ? in.layer_device[size_t(of_layer)] : in.cpu;
  return known;
}

// ---- projections and norms

TensorId Blocks::linear(Slot slot, TensorId x, int64_t out) {
  return g.mul_mat(weight(slot, g[x].ne[0], out), x);
}

TensorId Blocks::linear_biased(Slot slot, Slot bias, TensorId x, int64_t out) {
  return g.add(linear(slot, x, out), weight(bias, out));
}

TensorId Blocks::linear_maybe(Slot slot, Slot bias, TensorId x, int64_t out) {
  return has(bias) ? linear_biased(slot, bias, x, out) : linear(slot, x, out);
}

bool Blocks::pin_here() const {
  // Batches below 32 tokens are always pinned. Source: src/llama-context.cpp, graph_get_cb.
  return in.pins && layer >= 0 && (in.full_offload || tokens < 32);
}

TensorId Blocks::norm(Slot slot, TensorId x, Pin pin) {
  const TensorId y = g.rms_norm(x);
  if (pin == Pin::yes && pin_here()) g[y].device = in.layer_device[size_t(layer)];
  return g.mul(y, weight(slot, g[x].ne[0]));
}

TensorId Blocks::norm_grouped(Slot slot, TensorId x) {
  const TensorId y = g.rms_norm(x);
  if (pin_here()) g[y].device = in.layer_device[size_t(layer)];
  return g.mul(y, weight(slot, g[x].ne[0], g[x].ne[1]));
}

TensorId Blocks::layer_norm(Slot slot, Slot bias, TensorId x) {
  const TensorId y = g.like_first(Op::norm, {x});
  if (pin_here()) g[y].device = in.layer_device[size_t(layer)];
  return g.add(g.mul(y, weight(slot, g[x].ne[0])), weight(bias, g[x].ne[0]));
}

TensorId Blocks::norm_of_kind(model::NormKind kind, Slot slot, Slot bias, TensorId x) {
  if (kind == model::NormKind::rms) return norm(slot, x);
  if (kind == model::NormKind::layer_norm_bias) return layer_norm(slot, bias, x);
  const TensorId y = g.like_first(Op::norm, {x});
  if (pin_here()) g[y].device = in.layer_device[size_t(layer)];
  return g.mul(y, weight(slot, g[x].ne[0]));
}

// ---- inputs

TensorId Blocks::embed() {
  const TensorId ids = input(GgmlType::I32, tokens);
  layer = -1;
  const TensorId table = weight(Slot::token_embd, hidden, shape.vocab);
  g[table].memory = in.cpu;  // the table stays on the host whatever is offloaded
  const TensorId x = g.expand(g.get_rows(table, ids));
  if (rules.embeddings_leaf) g.expand(input(GgmlType::F32, hidden, tokens));
  return x;
}

TensorId Blocks::per_layer_inputs(TensorId x) {
  const int64_t width = shape.per_layer.width;
  const int64_t count = int64_t(shape.layers.size());
  const TensorId ids = input(GgmlType::I32, tokens);
  const TensorId table = weight(Slot::per_layer_token_embd, width * count, shape.vocab);
  g[table].memory = in.cpu;
  const TensorId looked_up =
      g.expand(g.scale(g.reshape(g.get_rows(table, ids), width, count, tokens)));
  const TensorId projection = weight(Slot::per_layer_model_proj, hidden, width * count);
  g[projection].memory = in.layer_device[0];
  TensorId y = g.scale(g.mul_mat(projection, x));
  y = g.rms_norm(g.reshape(y, width, count, tokens));
  const TensorId norm_weight = weight(Slot::per_layer_proj_norm, width);
  g[norm_weight].memory = in.layer_device[0];
  y = g.mul(y, norm_weight);
  y = g.scale(g.add(y, looked_up));
  return g.cont(g.permute(y, 0, 2, 1, 3));
}

// ---- attention

CacheInputs Blocks::cache_inputs(bool sliding, bool keys_only) {
  CacheInputs cache;
  cache.cells = sliding ? in.size.sliding_cells : in.size.cells;
  if (rules.cache_index_inputs) {
    cache.k_index = input(GgmlType::I64, tokens);
    if (!keys_only) {
      // Transposed values are written element by element.
      cache.v_index = input(GgmlType::I64,
                            flash ? tokens : saturating_multiply(tokens, shape.widest_value_row()));
    }
  }
  const int64_t mask_rows =
      rules.mask_rows_exact ? tokens / streams : round_up(tokens / streams, 64);
  const bool half = flash && rules.mask_half;
  cache.mask = input(half ? GgmlType::F16 : GgmlType::F32, cache.cells, mask_rows, 1, streams);
  if (flash && !half) {
    cache.mask = g.make(Op::cpy, GgmlType::F16, g[cache.mask].ne, {cache.mask});
  }
  if (keys_only || !rules.rotates_quantised_cache) return cache;
  for (const LayerShape& l : shape.layers) {
    if (l.mixer != MixerKind::attention || l.sliding != sliding) continue;
    if (l.key_dim % 64 != 0) break;
    if (is_quantized(in.settings.type_k)) {
      const int64_t n = rotation_width(l.key_dim);
      cache.k_rotation = input(GgmlType::F32, n, n);
    }
    if (is_quantized(in.settings.type_v)) cache.v_rotation = input(GgmlType::F32, 64, 64);
    break;
  }
  return cache;
}

TensorId Blocks::hadamard(TensorId x, TensorId rotation) {
  const int64_t n = g[rotation].ne[0];
  const int64_t columns = g[x].elements() / n;
  const TensorId flat = is_contiguous(g[x]) ? g.reshape(x, n, columns) : g.cont_as(x, n, columns);
  const Extents ne = g[x].ne;
  return g.reshape(g.mul_mat(rotation, flat), ne[0], ne[1], ne[2], ne[3]);
}

void Blocks::store_keys(const CacheInputs& cache, TensorId k, TensorId store) {
  const Extents ne = g[k].ne;
  if (!rules.cache_index_inputs) {
    g.expand(g.copy_into(k, g.view_1d(store, g[k].elements())));
    return;
  }
  const TensorId flat = g.view_2d(k, ne[0] * ne[1], ne[2], g[k].nb[2]);
  const Extents all = g[store].ne;
  if (all[2] > 1) store = g.reshape(store, all[0], all[1] * all[2]);
  g.expand(g.set_rows(store, flat, cache.k_index));
}

void Blocks::store_values(const CacheInputs& cache, TensorId v, TensorId store) {
  const Extents ne = g[v].ne;
  const int64_t width = ne[0] * ne[1];
  const Extents all = g[store].ne;
  if (!rules.cache_index_inputs) {
    const TensorId flat = g.reshape(v, width, ne[2]);
    if (flash) {
      g.expand(g.copy_into(flat, g.view_1d(store, g[flat].elements())));
    } else {
      const int64_t column = bytes_of_row(g[store].type, all[1]);
      g.expand(g.copy_into(g.transpose(flat), g.view_2d(store, ne[2], width, column)));
    }
    return;
  }
  if (flash) {
    const TensorId flat = g.view_2d(v, width, ne[2], g[v].nb[2]);
    if (all[2] > 1) store = g.reshape(store, all[0], all[1] * all[2]);
    g.expand(g.set_rows(store, flat, cache.v_index));
    return;
  }
  const bool packed = bytes_of_row(g[v].type, width) == g[v].nb[2];
  TensorId flat = packed ? g.reshape(v, width, ne[2]) : g.cont_as(v, width, ne[2]);
  if (width < all[0]) flat = g.pad(flat, {all[0], ne[2], 1, 1});
  const TensorId cells = g.reshape(store, 1, g[store].elements());
  g.expand(g.set_rows(cells, g.reshape(flat, 1, g[flat].elements()), cache.v_index));
}

TensorId Blocks::read_keys(TensorId store, int64_t head_dim, int64_t heads) {
  const Tensor& s = g[store];
  const GgmlType type = s.type;
  const Extents ne = s.ne;
  return g.view(store, {head_dim, heads, ne[1], ne[2]}, bytes_of_row(type, head_dim),
                bytes_of_row(type, ne[0]), bytes_of_row(type, saturating_multiply(ne[0], ne[1])));
}

TensorId Blocks::read_values(TensorId store, int64_t head_dim, int64_t heads) {
  if (flash) return read_keys(store, head_dim, heads);
  const GgmlType type = g[store].type;
  const Extents ne = g[store].ne;
  return g.view(store, {ne[1], heads, head_dim, ne[2]},
                bytes_of_row(type, saturating_multiply(ne[1], head_dim)), bytes_of_row(type, ne[1]),
                bytes_of_row(type, saturating_multiply(ne[1], ne[0])));
}

TensorId Blocks::attend(TensorId q, TensorId k, TensorId v, TensorId mask, TensorId sinks,
                        TensorId value_up, bool softcap) {
  const bool transposed_values = g[v].nb[1] > g[v].nb[2];
  const int64_t s = g[k].ne[3];
  const Extents qn = g[q].ne, qb = g[q].nb;
  q = g.view(q, {qn[0], qn[1], qn[2] / s, s}, qb[1], qb[2], qb[3] / s);
  q = g.permute(q, 0, 2, 1, 3);
  k = g.permute(k, 0, 2, 1, 3);
  v = g.permute(v, 0, 2, 1, 3);
  TensorId o;
  if (flash) {
    if (transposed_values) v = g.transpose(v);
    o = g.flash_attn(q, k, v, mask, sinks);
    if (value_up != kNoTensor) {
      o = g.mul_mat(value_up, g.permute(o, 0, 2, 1, 3));
      o = g.cont(g.permute(o, 0, 2, 1, 3));
    }
    const Extents n = g[o].ne;
    o = g.reshape(o, n[0] * n[1], n[2] * n[3]);
  } else {
    TensorId scores = g.mul_mat(k, q);
    if (softcap) scores = g.scale(g.unary(g.scale(scores)));
    scores = g.soft_max(scores, mask, sinks);
    if (!transposed_values) v = g.cont(g.transpose(v));
    o = g.mul_mat(v, scores);
    if (value_up != kNoTensor) o = g.mul_mat(value_up, o);
    o = g.permute(o, 0, 2, 1, 3);
    const Extents n = g[o].ne;
    o = g.cont_as(o, n[0] * n[1], n[2] * n[3]);
    if (!in.settings.kv_offload) g[o].device = in.cpu;
  }
  return g.expand(o);
}

TensorId Blocks::attention(const CacheInputs& cache, Attention a) {
  const LayerShape& l = now();
  if (cache.k_rotation != kNoTensor) {
    a.q = hadamard(a.q, cache.k_rotation);
    if (a.k != kNoTensor) a.k = hadamard(a.k, cache.k_rotation);
  }
  if (cache.v_rotation != kNoTensor && a.v != kNoTensor) a.v = hadamard(a.v, cache.v_rotation);

  // Models with a sliding cache, and all before the order changed, enter q, k, v; others q, v, k.
  g.expand(a.q);
  if (a.k != kNoTensor) {
    const bool key_first = shape.has_sliding() || !rules.value_before_key;
    g.expand(key_first ? a.k : a.v);
    g.expand(key_first ? a.v : a.k);
  }
  const int32_t owner = l.cache_of >= 0 ? l.cache_of : layer;
  const int64_t value_row = flash ? l.kv_heads * l.value_dim : shape.widest_value_row();
  const TensorId keys =
      cache_tensor(kKeys, owner, in.settings.type_k, l.kv_heads * l.key_dim, cache.cells, streams);
  const TensorId values =
      cache_tensor(kValues, owner, in.settings.type_v, value_row, cache.cells, streams);
  if (a.k != kNoTensor) {
    store_keys(cache, a.k, keys);
    store_values(cache, a.v, values);
  }
  const TensorId k = read_keys(keys, l.key_dim, l.kv_heads);
  const TensorId v = read_values(values, l.value_dim, l.kv_heads);
  TensorId o = attend(a.q, k, v, cache.mask, a.sinks, kNoTensor, a.softcap);
  if (cache.v_rotation != kNoTensor) o = hadamard(o, cache.v_rotation);
  if (a.project == Project::no) return o;
  return linear_maybe(Slot::attn_output, Slot::attn_output_bias, o, hidden);
}

TensorId Blocks::attention_keys_only(const CacheInputs& cache, TensorId q, TensorId k, TensorId v,
                                     TensorId value_up, TensorId mask) {
  g.expand(q);
  g.expand(v);
  g.expand(k);
  const int64_t width = g[k].ne[0];
  const TensorId keys = cache_tensor(kKeys, layer, in.settings.type_k, width, cache.cells, streams);
  store_keys(cache, k, keys);
  const TensorId all = read_keys(keys, width, 1);
  const Extents ne = g[all].ne, nb = g[all].nb;
  const TensorId values = g.view(all, {g[v].ne[0], ne[1], ne[2], ne[3]}, nb[1], nb[2], nb[3]);
  const TensorId o = attend(q, all, values, mask, kNoTensor, value_up, false);
  return linear(Slot::attn_output, o, hidden);
}

// ---- feed-forward

TensorId Blocks::combine(TensorId gate, TensorId up) {
  return rules.fused_glu ? g.glu(gate, up) : g.mul(g.unary(gate), up);
}

TensorId Blocks::ffn(TensorId x, int64_t width) {
  const TensorId up = linear(Slot::ffn_up, x, width);
  const TensorId gate = linear(Slot::ffn_gate, x, width);
  return linear(Slot::ffn_down, combine(gate, up), hidden);
}

TensorId Blocks::ffn_shared(TensorId x, int64_t width) {
  const TensorId up = linear(Slot::ffn_up_shexp, x, width);
  const TensorId gate = linear(Slot::ffn_gate_shexp, x, width);
  return linear(Slot::ffn_down_shexp, combine(gate, up), hidden);
}

TensorId Blocks::ffn_plain(TensorId x) {
  const LayerShape& l = now();
  TensorId y;
  if (l.ffn_fused) {
    y = g.glu_halves(linear_maybe(Slot::ffn_up, Slot::ffn_up_bias, x, 2 * l.ffn_width));
  } else {
    y = linear_maybe(Slot::ffn_up, Slot::ffn_up_bias, x, l.ffn_width);
    if (l.ffn_gated) {
      y = combine(linear_maybe(Slot::ffn_gate, Slot::ffn_gate_bias, x, l.ffn_width), y);
    } else {
      y = l.ffn_relu_squared ? relu_squared(y) : g.unary(y);
    }
  }
  return linear_maybe(Slot::ffn_down, Slot::ffn_down_bias, y, hidden);
}

TensorId Blocks::moe(TensorId x, const MoeCall& call) {
  const MoeShape& m = call.moe;
  const int64_t n = m.experts, used = m.active;
  const int64_t width = call.width > 0 ? call.width : g[x].ne[0];
  const int64_t t = g[x].ne[1];

  TensorId logits = call.logits;
  if (logits == kNoTensor) {
    logits = g.mul_mat(weight(Slot::ffn_gate_inp, g[x].ne[0], n), x);
  }
  if (m.biased) logits = g.add(logits, weight(Slot::ffn_gate_inp_bias, n));
  const bool late = m.gating == model::RouterGating::softmax_after_selection;
  TensorId probabilities = logits;
  if (m.gating == model::RouterGating::softmax) probabilities = g.soft_max(logits);
  if (m.gating == model::RouterGating::sigmoid) probabilities = g.unary(logits);
  TensorId selection = probabilities;
  if (m.correction_bias) {
    selection = g.add(probabilities, weight(Slot::exp_probs_bias, n));
  } else if (m.weights_before) {
    selection = logits;
  }
  const TensorId ids = g.argsort_top(selection, used);
  TensorId w = g.get_rows(g.reshape(probabilities, 1, n, t), ids);
  if (late) w = g.reshape(g.soft_max(g.reshape(w, used, t)), 1, used, t);
  if (m.normalise && !late) {
    w = g.reshape(w, used, t);
    const TensorId sum = g.in_place(Op::clamp, g.sum_rows(w));
    w = g.reshape(g.div(w, sum), 1, used, t);
  }
  if (m.scale) w = g.scale(w);
  g.expand(w);

  TensorId y = g.reshape(x, width, 1, t);
  if (m.weights_before) y = g.mul(g.repeat(y, width, used, t), w);
  const auto expert = [&](Slot slot, Slot bias, TensorId a, int64_t out) {
    const TensorId r = g.mul_mat_id(weight(slot, g[a].ne[0], out, n), a, ids);
    return m.biased ? g.add_id(r, weight(bias, out, n), ids) : r;
  };
  if (m.merged) {
    const TensorId both = expert(Slot::ffn_gate_up_exps, Slot::ffn_gate_exps_bias, y, 2 * m.width);
    const Extents ne = g[both].ne, nb = g[both].nb;
    const TensorId gate = g.view_3d(both, m.width, ne[1], ne[2], nb[1], nb[2]);
    const TensorId up = g.view_3d(both, m.width, ne[1], ne[2], nb[1], nb[2], m.width * kFloat);
    y = combine(gate, up);
  } else {
    const TensorId up = expert(Slot::ffn_up_exps, Slot::ffn_up_exps_bias, y, m.width);
    y = m.gated ? combine(expert(Slot::ffn_gate_exps, Slot::ffn_gate_exps_bias, y, m.width), up)
                : relu_squared(up);
  }
  TensorId experts = expert(Slot::ffn_down_exps, Slot::ffn_down_exps_bias, y, width);
  if (!m.weights_before) experts = g.mul(experts, w);
  g.expand(experts);

  // The results are summed one by one over views, all of which enter the graph first.
  const Extents nb = g[experts].nb;
  const TensorId first = g.expand(g.view_2d(experts, width, t, nb[2]));
  std::vector<TensorId> others;
  for (int64_t i = 1; i < used; ++i) {
    others.push_back(g.expand(g.view_2d(experts, width, t, nb[2], i * nb[1])));
  }
  TensorId sum = first;
  for (const TensorId other : others) sum = g.expand(g.add(sum, other));
  return used == 1 ? g.cont(sum) : sum;
}

// ---- recurrent states

StateInputs Blocks::state_inputs() {
  const TensorId ids = input(GgmlType::I32, sequences);
  StateInputs states;
  states.main = g.view_1d(ids, sequences);
  states.extra = g.view_1d(ids, 0, sequences * kFloat);
  return states;
}

TensorId Blocks::state_store(int kind, int64_t size) {
  return cache_tensor(kConvolution + kind, layer, GgmlType::F32, size, sequences * snapshots, 1);
}

LoadedState Blocks::load_state(const StateInputs& ids, int kind, int64_t size) {
  return load_state_with(ids, kind, size,
                         [&](TensorId all, TensorId main) { return g.get_rows(all, main); });
}

// ---- head

void Blocks::head(TensorId x, const Head& options) {
  layer = -1;
  const bool select = options.select != kNoTensor;
  if (select && options.when == Select::before_norm) {
    g[x].output = true;
    x = g.get_rows(x, options.select);
  }
  x = norm_of_kind(options.norm, Slot::output_norm, Slot::output_norm_bias, x);
  if (select && options.when == Select::after_norm) {
    g[x].output = true;
    x = g.get_rows(x, options.select);
  }
  g[x].output = true;
  TensorId logits = g.mul_mat(weight(Slot::output, hidden, shape.vocab), x);
  if (has(Slot::output_bias)) logits = g.add(logits, weight(Slot::output_bias, shape.vocab));
  if (options.softcap) logits = g.scale(g.unary(g.scale(logits)));
  // Not marked as an input there, so it lies where the sum is made.
  if (options.biased_by_token) {
    logits = g.add(logits, g.make(Op::none, GgmlType::F32, {shape.vocab, 1, 1, 1}));
  }
  g[logits].output = true;
  g.expand(logits);
}

}  // namespace vramwise::engines::llamacpp
