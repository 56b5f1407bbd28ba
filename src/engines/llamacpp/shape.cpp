#include "engines/llamacpp/shape.h"

#include <algorithm>
#include <variant>

#include "base/text.h"
#include "engines/llamacpp/graph/families.h"

namespace vramwise::engines::llamacpp {
namespace {

using model::AttentionBlock;
using model::LatentBlock;
using model::RecurrentBlock;
using weights::GgufTensor;

// Tensors of one layer (or of none) by slot.
class TensorLookup {
 public:
  TensorLookup(const weights::GgufModel& gguf, size_t layers, WeightTable& table) {
    table.reset(layers);
    tensors_.assign(table.size(), nullptr);
    for (const GgufTensor& t : gguf.tensors) {
      if (t.layer >= int64_t(layers)) continue;
      std::string_view name = t.name;
      if (t.layer >= 0) {
        const size_t dot = name.find('.', 4);
        if (dot == std::string_view::npos) continue;
        name.remove_prefix(dot + 1);
      }
      const auto slot = slot_of(name);
      if (!slot) continue;
      table.at(*slot, t.layer) = {t.type, -1, true};
      tensors_[index(*slot, t.layer)] = &t;
    }
  }
  const GgufTensor* find(Slot slot, int64_t layer) const { return tensors_[index(slot, layer)]; }
  bool has(Slot slot, int64_t layer) const { return find(slot, layer) != nullptr; }
  // Extent of a tensor, 0 when the file has none.
  int64_t extent(Slot slot, int64_t layer, size_t axis) const {
    const GgufTensor* t = find(slot, layer);
    return t == nullptr ? 0 : t->extent[axis];
  }

 private:
  static size_t index(Slot slot, int64_t layer) {
    return size_t(layer + 1) * kSlots + size_t(slot);
  }
  std::vector<const GgufTensor*> tensors_;
};

struct Reader {
  const model::Model& model;
  const TensorLookup& file;
  const Family& family;
  Shape& shape;

  void attention(const AttentionBlock& a, int32_t i, LayerShape& l) const {
    l.mixer = MixerKind::attention;
    l.heads = a.query_heads;
    l.kv_heads = a.kv_heads;
    l.key_dim = a.key_dim;
    l.value_dim = a.value_dim;
    l.cache_of = a.shared_with >= 0 ? int32_t(a.shared_with) : i;
    l.sliding = a.window > 0 && !model.gguf.ignores_window;
    if (l.sliding) shape.window = std::max(shape.window, a.window);
    l.fused_qkv = file.has(Slot::attn_qkv, i);
    l.sinks = file.has(Slot::attn_sinks, i);
    l.rope = a.rope;
    l.temperature = family.temperature && !a.rope;
    l.value_is_key = a.value_is_key;
    l.query_scaled = a.query_scaled;
    l.score_softcap = a.score_softcap;
    l.qk_norm = a.qk_norm;
    if (file.has(Slot::attn_q_norm, i)) {
      l.qk_norm = file.extent(Slot::attn_q_norm, i, 0) == a.key_dim ? model::QkNorm::per_head
                                                                   : model::QkNorm::full_width;
    }
  }

  void latent(const LatentBlock& m, int32_t i, LayerShape& l) const {
    Shape::Latent& s = shape.latent;
    s.q_rank = m.q_lora_rank;
    s.kv_rank = m.kv_lora_rank;
    s.nope = m.nope_dim;
    s.rope = m.rope_dim;
    s.value = m.value_dim;
    s.absorbed = file.has(Slot::attn_k_b, i);
    l.mixer = MixerKind::latent;
    l.heads = m.query_heads;
    l.kv_heads = s.absorbed ? 1 : m.query_heads;
    l.key_dim = s.absorbed ? m.kv_lora_rank + m.rope_dim : m.nope_dim + m.rope_dim;
    l.value_dim = s.absorbed ? m.kv_lora_rank : m.value_dim;
    l.cache_of = i;
    l.indexer = m.indexer_heads > 0 && file.has(Slot::indexer_attn_q_b, i);
    if (l.indexer) shape.indexer = {m.indexer_heads, m.indexer_dim, m.indexer_top_k};
  }

  MixerKind recurrent(const RecurrentBlock& block, int32_t i) const {
    Shape::Ssm& s = shape.ssm;
    if (const auto* m = std::get_if<model::Mamba1State>(&block.state)) {
      s = {m->conv_kernel, m->inner, m->state, file.extent(Slot::ssm_dt, i, 0), 0};
      return MixerKind::mamba1;
    }
    if (const auto* m = std::get_if<model::Mamba2State>(&block.state)) {
      s = {m->conv_kernel, m->heads * m->head_dim, m->state, m->heads, m->groups};
      return MixerKind::mamba2;
    }
    if (const auto* m = std::get_if<model::GatedDeltaState>(&block.state)) {
      s = {m->conv_kernel, m->value_heads * m->value_dim, m->key_dim, m->value_heads,
           m->key_heads};
      return MixerKind::delta;
    }
    if (const auto* m = std::get_if<model::KimiDeltaState>(&block.state)) {
      shape.kimi = {m->heads, m->head_dim, m->conv_kernel};
      return MixerKind::kimi_delta;
    }
    if (const auto* m = std::get_if<model::ShortConvState>(&block.state)) {
      shape.short_conv = m->conv_kernel;
      return MixerKind::short_conv;
    }
    if (const auto* m = std::get_if<model::RwkvState>(&block.state)) {
      Shape::Rwkv& r = shape.rwkv;
      r.head_size = m->head_dim;
      r.shifts = m->shifts;
      r.decay_rank = std::max(r.decay_rank, file.extent(Slot::time_mix_w1, i, 1));
      r.rate_rank = std::max(r.rate_rank, file.extent(Slot::time_mix_a1, i, 1));
      r.value_rank = std::max(r.value_rank, file.extent(Slot::time_mix_v1, i, 1));
      r.gate_rank = std::max(r.gate_rank, file.extent(Slot::time_mix_g1, i, 1));
      return MixerKind::rwkv;
    }
    return MixerKind::none;
  }

  void feed_forward(const model::FeedForward& ffn, int32_t i, LayerShape& l) const {
    const auto* moe = std::get_if<model::MoeFeedForward>(&ffn);
    const auto* dense = std::get_if<model::DenseFeedForward>(&ffn);
    if (dense != nullptr) l.ffn_width = dense->width;
    if (moe != nullptr) {
      l.ffn_width = moe->dense_width;
      MoeShape& m = l.moe;
      m.experts = moe->experts;
      m.active = std::min(moe->active, moe->experts);
      m.width = moe->width;
      m.shared_width = moe->shared_width;
      m.shared_gate = moe->shared_gate;
      m.gated = moe->gated;
      m.biased = moe->biased;
      m.correction_bias = moe->correction_bias;
      m.normalise = moe->normalise_weights;
      m.scale = moe->scale_weights;
      m.weights_before = moe->weights_before;
      m.gating = moe->gating;
      m.latent_width = moe->latent_width;
      m.merged = file.has(Slot::ffn_gate_up_exps, i);
    }
    const int64_t up = file.extent(Slot::ffn_up, i, 1), down = file.extent(Slot::ffn_down, i, 0);
    if (down > 0) l.ffn_width = down;
    l.ffn_gated = file.has(Slot::ffn_gate, i);
    l.ffn_fused = !l.ffn_gated && down > 0 && up == 2 * down;
    l.ffn_relu_squared = family.relu_squared;
  }

  LayerShape layer(const model::Layer& given, int32_t i) const {
    LayerShape l;
    l.mixer = MixerKind::none;
    for (const model::Mixer& mixer : given.mixers) {
      if (const auto* a = std::get_if<AttentionBlock>(&mixer)) attention(*a, i, l);
      if (const auto* m = std::get_if<LatentBlock>(&mixer)) latent(*m, i, l);
      if (const auto* r = std::get_if<RecurrentBlock>(&mixer)) {
        const MixerKind kind = recurrent(*r, i);
        (l.mixer == MixerKind::none ? l.mixer : l.second) = kind;
      }
    }
    feed_forward(given.feed_forward, i, l);
    l.norm = given.norm;
    l.pre_norm = file.has(Slot::attn_norm, i);
    // Where a layer has one norm before the feed-forward only, it may carry this name.
    l.post_attention_norm =
        file.has(Slot::post_attention_norm, i) && (file.has(Slot::ffn_norm, i) || !l.pre_norm);
    l.post_ffn_norm = file.has(Slot::post_ffw_norm, i);
    l.parallel = given.parallel;
    l.rope_factors = file.has(Slot::rope_freqs, -1) || file.has(Slot::rope_factors, -1);
    l.output_scale = file.has(Slot::layer_output_scale, i);
    return l;
  }
};

}  // namespace

bool Shape::has_sliding() const {
  return std::any_of(layers.begin(), layers.end(), [](const LayerShape& l) { return l.sliding; });
}

bool Shape::has_state() const {
  return std::any_of(layers.begin(), layers.end(), [](const LayerShape& l) {
    return l.state() >= MixerKind::mamba1;
  });
}

bool Shape::has_attention() const {
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerShape& l) { return l.keeps_attention(); });
}

int64_t Shape::widest_value_row() const {
  int64_t widest = 0;
  for (const LayerShape& l : layers) {
    if (l.keeps_attention()) {
      widest = std::max(widest, saturating_multiply(l.kv_heads, l.value_dim));
    }
  }
  return widest;
}

Result<Shape> shape_of(const model::Model& model, const weights::GgufModel& gguf, Notes& notes) {
  if (model.is_encoder_only || model.encoder_layers) {
    return fail(Error(ErrorCode::unsupported,
                      "encoder models have no cache to plan in llama.cpp: " + model.id)
                    .at("model"));
  }
  const Family& family = family_of(gguf.architecture);
  Shape shape;
  shape.architecture = gguf.architecture;
  shape.hidden = model.hidden_size;
  shape.vocab = model.gguf.vocab_rows > 0 ? model.gguf.vocab_rows : model.vocab_size;
  shape.train_ctx = model.max_positions;
  shape.trunk_layers = int64_t(model.layers.size());
  const size_t mtp = std::min(model.mtp_layers.size(),
                              size_t(std::max<int64_t>(0, gguf.block_count - shape.trunk_layers)));
  const size_t layers = model.layers.size() + mtp;

  const TensorLookup file(gguf, layers, shape.weights);
  const Reader reader{model, file, family, shape};
  for (size_t i = 0; i < layers; ++i) {
    const bool trunk = i < model.layers.size();
    const model::Layer& layer =
        trunk ? model.layers[i] : model.mtp_layers[i - model.layers.size()];
    shape.layers.push_back(reader.layer(layer, int32_t(i)));
  }
  shape.mtp_caches = family.mtp_caches;
  shape.embedding_scaled = model.embedding_scaled;
  shape.logit_softcap = model.logit_softcap;
  shape.residual_scaled = family.residual_scaled;
  shape.position_sections = family.position_sections;
  shape.keeps_rollback = family.keeps_rollback;
  shape.tied_head = !file.has(Slot::output, -1);
  if (shape.tied_head) {
    WeightTable& table = shape.weights;
    table.at(Slot::output, -1) = table.at(Slot::token_embd, -1);
  }
  if (const int64_t rows = file.extent(Slot::token_embd, -1, 1); rows > 0) shape.vocab = rows;
  shape.per_layer.width = file.extent(Slot::inp_gate, 0, 1);
  shape.per_layer.streams = file.extent(Slot::altup_router, 0, 1);
  shape.per_layer.rank = file.extent(Slot::laurel_l, 0, 1);
  shape.per_layer.sparse_layers = family.sparse_layers;
  if (!family.checked) {
    notes.assume("llamacpp_graph_family",
                 "The compute graph of architecture '" + gguf.architecture +
                     "' follows the nearest family that was checked against llama.cpp.",
                 "ggml-org/llama.cpp src/models");
  }
  return shape;
}

}  // namespace vramwise::engines::llamacpp
