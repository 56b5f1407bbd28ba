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
using weights::GgmlType;
using weights::GgufTensor;

// What the name says behind "blk.N.".
std::string_view behind_layer(const GgufTensor& t) {
  std::string_view name = t.name;
  if (t.layer < 0) return name;
  const size_t dot = name.find('.', 4);
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

// Matrices that the CPU keeps in another order for its vector units (AVX2 kernels).
// Source: ggml/src/ggml-cpu/repack.cpp, ggml_repack_get_optimal_repack_type.
bool is_repacked(const GgufTensor& t) {
  const bool type = t.type == GgmlType::Q4_0 || t.type == GgmlType::Q4_K ||
                    t.type == GgmlType::IQ4_NL || t.type == GgmlType::MXFP4;
  return type && t.extent[1] % 8 == 0;
}

// Source: llama.cpp src/llama-arch.cpp (layer of each tensor), src/llama-model.cpp.
FileTensor file_tensor(const GgufTensor& t, const Family& family) {
  using Home = FileTensor::Home;
  const std::string_view name = behind_layer(t);
  FileTensor f;
  f.slot = slot_of(name).value_or(Slot::count);
  f.token_embedding = name == "token_embd.weight";
  const bool input = f.token_embedding || name == "position_embd.weight" ||
                     name == "token_types.weight" || name == "per_layer_token_embd.weight";
  f.repackable = !input && is_repacked(t);
  if (input) {
    f.home = Home::input;
  } else if (t.layer >= 0) {
    f.home = Home::layer;
    // ".ffn_(up|down|gate|gate_up)_(ch|)exps" of --cpu-moe
    f.expert_stack = starts_with(name, "ffn_") &&
                     (contains(name, "_exps") || contains(name, "_chexps")) &&
                     !starts_with(name, "ffn_norm");
  } else if (starts_with(name, "rope_f")) {
    f.home = Home::rope;
  } else if (name == "per_layer_model_proj.weight" || name == "per_layer_proj_norm.weight" ||
             (starts_with(name, "token_embd_norm") && !family.head_norm_is_embedding_norm)) {
    f.home = Home::first_layer;
  }
  return f;
}

// Tensors of one layer (or of none) by slot.
class TensorLookup {
 public:
  TensorLookup(const weights::GgufModel& gguf, size_t layers, const Shape& shape)
      : tensors_(shape.weights.size(), nullptr) {
    for (size_t i = 0; i < gguf.tensors.size(); ++i) {
      const GgufTensor& t = gguf.tensors[i];
      const Slot slot = shape.file[i].slot;
      if (slot == Slot::count || t.layer >= int64_t(layers)) continue;
      tensors_[index(slot, t.layer)] = &t;
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
    l.position_scaled = a.scaled_by_position && !family.temperature;
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

  // Rank of a low-rank pair of RWKV: the file's tensor, else the checkpoint's.
  int64_t rank(int64_t known, Slot slot, std::string_view name_end, int32_t i) const {
    if (known > 0) return known;
    if (const int64_t extent = file.extent(slot, i, 1); extent > 0) return extent;
    for (const model::Tensor& t : model.tensors) {
      if (t.layer == i && ends_with(t.name, name_end)) return t.shape[0];
    }
    return 0;
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
      s = {m->conv_kernel, m->value_heads * m->value_dim, m->key_dim, m->value_heads, m->key_heads};
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
    if (const auto* m = std::get_if<model::LightningState>(&block.state)) {
      shape.lightning = {m->heads, m->head_dim};
      return MixerKind::lightning;
    }
    if (const auto* m = std::get_if<model::RwkvState>(&block.state)) {
      Shape::Rwkv& r = shape.rwkv;
      r.head_size = m->head_dim;
      r.shifts = m->shifts;
      r.decay_rank = rank(r.decay_rank, Slot::time_mix_w1, ".w_lora.lora.0.weight", i);
      r.rate_rank = rank(r.rate_rank, Slot::time_mix_a1, ".a_lora.lora.0.weight", i);
      r.value_rank = rank(r.value_rank, Slot::time_mix_v1, ".v_lora.lora.0.weight", i);
      r.gate_rank = rank(r.gate_rank, Slot::time_mix_g1, ".g_lora.lora.0.weight", i);
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

  // Caches beside the mixer's own.
  void extra_caches(const model::Layer& given, int32_t i, LayerShape& l) const {
    for (const model::CacheLayout& cache : given.caches) {
      if (const auto* k = std::get_if<model::IndexerKeys>(&cache)) {
        l.indexer = true;
        if (shape.indexer.dim == 0) shape.indexer.dim = k->key_dim;
      } else if (const auto* w = std::get_if<model::SharedKeyWindow>(&cache)) {
        l.keys_only = l.sliding = true;
        l.kv_heads = 1;
        l.key_dim = l.value_dim = w->head_dim;
        l.cache_of = i;
        shape.window = std::max(shape.window, w->window);
      } else if (const auto* c = std::get_if<model::CompressedAttention>(&cache)) {
        // Blocks of 4 tokens overlap, so that two of them are unfinished, each twice as wide.
        const bool overlaps = c->ratio == 4;
        l.compressed_by = c->ratio;
        l.state_rows = overlaps ? 2 * c->ratio : c->ratio;
        l.state_width = overlaps ? 2 * c->head_dim : c->head_dim;
      }
    }
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
    extra_caches(given, i, l);
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
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerShape& l) { return l.state() >= MixerKind::mamba1; });
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

void index_file(const weights::GgufModel& gguf, size_t layers, Shape& shape) {
  const Family& family = family_of(gguf.architecture);
  shape.weights.reset(layers);
  shape.file.clear();
  shape.file.reserve(gguf.tensors.size());
  for (const GgufTensor& t : gguf.tensors) {
    const FileTensor f = file_tensor(t, family);
    if (f.slot != Slot::count && t.layer < int64_t(layers)) {
      shape.weights.at(f.slot, t.layer) = {t.type, -1, true};
    }
    shape.file.push_back(f);
  }
  shape.tied_head = !shape.encoder && !shape.weights.has(Slot::output, -1);
  if (shape.tied_head) {
    shape.weights.at(Slot::output, -1) = shape.weights.at(Slot::token_embd, -1);
    shape.weights.at(Slot::output, -1).present = false;
  }
}

Result<Shape> shape_of(const model::Model& model, const weights::GgufModel& gguf, Notes& notes) {
  if (model.encoder_layers) {
    return fail(
        Error(ErrorCode::unsupported,
              "models with an encoder beside their decoder are not planned for llama.cpp: " +
                  model.id)
            .at("model"));
  }
  const Family& family = family_of(gguf.architecture);
  Shape shape;
  shape.architecture = gguf.architecture;
  shape.hidden = model.hidden_size;
  shape.vocab = model.gguf.vocab_rows > 0 ? model.gguf.vocab_rows : model.vocab_size;
  shape.train_ctx = model.max_positions;
  shape.trunk_layers = int64_t(model.layers.size());
  shape.encoder = model.is_encoder_only;
  const size_t mtp = std::min(model.mtp_layers.size(),
                              size_t(std::max<int64_t>(0, gguf.block_count - shape.trunk_layers)));
  const size_t layers = model.layers.size() + mtp;

  index_file(gguf, layers, shape);
  const TensorLookup file(gguf, layers, shape);
  const Reader reader{model, file, family, shape};
  for (size_t i = 0; i < layers; ++i) {
    const bool trunk = i < model.layers.size();
    const model::Layer& layer = trunk ? model.layers[i] : model.mtp_layers[i - model.layers.size()];
    shape.layers.push_back(reader.layer(layer, int32_t(i)));
  }
  shape.mtp_caches = family.mtp_caches;
  shape.never_shares_cells = std::any_of(shape.layers.begin(), shape.layers.end(),
                                         [](const LayerShape& l) { return l.compressed_by > 0; });
  shape.embedding_scaled = model.embedding_scaled;
  shape.logit_softcap = model.logit_softcap;
  shape.suppresses_tokens = model.gguf.suppresses_tokens;
  shape.residual_scaled = family.residual_scaled;
  shape.position_sections = family.position_sections;
  shape.keeps_rollback = family.keeps_rollback;
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
