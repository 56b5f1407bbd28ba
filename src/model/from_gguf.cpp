#include "model/from_gguf.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "model/builder.h"
#include "model/gguf/architectures.h"
#include "model/gguf/keys.h"
#include "model/gguf/names.h"

namespace vramwise::model {
namespace {

using formats::GgufFile;
using formats::GgufTensorEntry;

// llama.cpp's own limits (LLAMA_MAX_LAYERS, LLAMA_MAX_EXPERTS).
constexpr int64_t kMostLayers = 512;
constexpr int64_t kMostExperts = 1024;
constexpr int64_t kWidest = int64_t{1} << 32;

// Tensors of one layer by the end of their name.
using LayerTensors = std::map<std::string_view, const GgufTensorEntry*>;

class FromGguf {
 public:
  FromGguf(const GgufFile& file, std::string_view id) : file_(file), keys_(file) {
    model_.id = std::string(id);
    row_ = gguf_architecture(keys_.architecture());
  }

  Result<Model> build();

 private:
  Result<void> read_sizes();
  void read_windows();
  void read_cache_owners();
  Layer layer(int64_t i) const;
  bool turns(int64_t i) const;
  void add_attention(Layer& layer, int64_t i) const;
  void add_latent(Layer& layer, int64_t i) const;
  void add_recurrent(Layer& layer, int64_t i) const;
  FeedForward feed_forward(int64_t i) const;
  MoeFeedForward experts(int64_t i) const;
  void add_tensors();
  void add_rope_table();
  void say_what_was_inferred();

  const GgufTensorEntry* find(int64_t layer, std::string_view name) const {
    if (layer >= int64_t(of_layer_.size())) return nullptr;
    const LayerTensors& tensors = of_layer_[size_t(layer)];
    const auto it = tensors.find(name);
    return it == tensors.end() ? nullptr : it->second;
  }
  bool has(int64_t layer, std::string_view name) const { return find(layer, name) != nullptr; }
  int64_t extent(int64_t layer, std::string_view name, size_t axis) const {
    const GgufTensorEntry* tensor = find(layer, name);
    return tensor != nullptr ? tensor->extent[axis] : 0;
  }

  const GgufFile& file_;
  GgufKeys keys_;
  const GgufArchitecture* row_;
  Model model_;
  std::vector<LayerTensors> of_layer_;
  int64_t blocks_ = 0;  // layers with the MTP layers behind them
  int64_t trunk_ = 0;
  std::vector<int64_t> heads_, kv_heads_, ffn_width_;
  std::vector<bool> slides_;
  std::vector<int64_t> owner_;  // whose cache the layer reads
  int64_t window_ = 0;
};

Result<void> FromGguf::read_sizes() {
  TRY_ASSIGN(blocks_, keys_.require("block_count", 1, kMostLayers));
  TRY_ASSIGN(model_.hidden_size, keys_.require("embedding_length", 1, kWidest));
  const int64_t mtp = keys_.integer_or("nextn_predict_layers", 0);
  trunk_ = blocks_ - std::clamp<int64_t>(mtp, 0, blocks_ - 1);
  model_.max_positions = keys_.integer_or("context_length", 0);
  if (const auto original = keys_.integer("rope.scaling.original_context_length")) {
    model_.original_positions = *original;
  }
  of_layer_.resize(size_t(blocks_));
  int64_t vocabulary = 0;
  for (const GgufTensorEntry& tensor : file_.tensors) {
    const GgufName name = split_gguf_name(tensor.name);
    if (name.layer >= 0 && name.layer < blocks_) {
      of_layer_[size_t(name.layer)].emplace(name.rest, &tensor);
    }
    if (tensor.name == "token_embd.weight") vocabulary = tensor.extent[1];
  }
  if (vocabulary == 0) vocabulary = file_.count("tokenizer.ggml.tokens");
  if (vocabulary == 0) vocabulary = keys_.integer_or("vocab_size", 0);
  model_.vocab_size = vocabulary;
  const int64_t experts = keys_.integer_or("expert_count", 0);
  const int64_t used = keys_.integer_or("expert_used_count", 0);
  if (experts > kMostExperts) {
    return fail(Error(ErrorCode::too_large, "the file has " + format_grouped(experts) +
                                                " experts, llama.cpp allows " +
                                                format_grouped(kMostExperts))
                    .at(Where{file_.name, keys_.architecture() + ".expert_count", 0, 0, -1}));
  }
  if (used > experts) {
    return fail(Error(ErrorCode::inconsistent, "a token uses " + format_integer(used) +
                                                   " experts, the file has " +
                                                   format_integer(experts))
                    .at(Where{file_.name, keys_.architecture() + ".expert_used_count", 0, 0, -1}));
  }
  heads_ = keys_.per_layer("attention.head_count", blocks_, 0);
  kv_heads_ = keys_.per_layer("attention.head_count_kv", blocks_, -1);
  for (size_t i = 0; i < heads_.size(); ++i) {
    if (kv_heads_[i] < 0) kv_heads_[i] = heads_[i];
  }
  ffn_width_ = keys_.per_layer("feed_forward_length", blocks_, 0);
  return {};
}

// Which layers slide: spec of the architecture, overridden by a pattern in the file.
void FromGguf::read_windows() {
  slides_.assign(size_t(blocks_), false);
  const GgufArchitecture row =
      row_ != nullptr ? *row_ : GgufArchitecture{.window = GgufWindow::if_given};
  if (row.window == GgufWindow::none) return;
  const auto given = keys_.integer("attention.sliding_window");
  window_ = given.value_or(row.window == GgufWindow::fallback ? row.fallback_window : 0);
  if (row.only_layers > 0 && trunk_ != row.only_layers && !given) window_ = 0;
  if (window_ <= 0) return;
  int64_t period = row.period;
  const formats::GgufArray* pattern =
      file_.array(keys_.architecture() + ".attention.sliding_window_pattern");
  if (pattern == nullptr) {
    if (const auto n = keys_.integer("attention.sliding_window_pattern")) period = *n;
  }
  for (int64_t i = 0; i < trunk_; ++i) {
    bool slides = true;
    if (pattern != nullptr) {
      slides = i < int64_t(pattern->values.size()) && pattern->values[size_t(i)] != 0;
    } else if (period > 0) {
      slides = row.dense_first ? i % period != 0 : i % period != period - 1;
    }
    slides_[size_t(i)] = slides;
  }
}

void FromGguf::read_cache_owners() {
  owner_.resize(size_t(blocks_));
  for (int64_t i = 0; i < blocks_; ++i) owner_[size_t(i)] = i;
  int64_t owning = trunk_;
  if (row_ != nullptr && row_->own_cache_layers > 0) owning = row_->own_cache_layers;
  owning = std::min(owning, trunk_);
  owning -= std::clamp<int64_t>(keys_.integer_or("attention.shared_kv_layers", 0), 0, owning);
  for (int64_t i = owning; i < trunk_; ++i) {
    int64_t owner = owning - 1;
    while (owner >= 0 && slides_[size_t(owner)] != slides_[size_t(i)]) --owner;
    if (owner >= 0) owner_[size_t(i)] = owner;
  }
}

bool FromGguf::turns(int64_t i) const {
  switch (row_ != nullptr ? row_->rope : GgufRope::every) {
    case GgufRope::every: return true;
    // Some files of such architectures were trained further with rotary embeddings.
    case GgufRope::none: return keys_.flag("rope.scaling.finetuned").value_or(false);
    case GgufRope::sliding_only: return window_ <= 0 || slides_[size_t(i)];
    case GgufRope::three_of_four: return (i + 1) % 4 != 0;
  }
  return true;
}

void FromGguf::add_attention(Layer& layer, int64_t i) const {
  AttentionBlock block;
  const size_t at = size_t(i);
  block.query_heads = heads_[at];
  block.kv_heads = kv_heads_[at];
  const bool slides = slides_[at];
  const int64_t usual = block.query_heads > 0 ? model_.hidden_size / block.query_heads : 0;
  block.key_dim = keys_.integer_or("attention.key_length", usual);
  block.value_dim = keys_.integer_or("attention.value_length", usual);
  if (slides) {
    block.key_dim = keys_.integer_or("attention.key_length_swa", block.key_dim);
    block.value_dim = keys_.integer_or("attention.value_length_swa", block.value_dim);
  }
  block.fused_qkv = has(i, "attn_qkv.weight");
  block.value_is_key = !block.fused_qkv && has(i, "attn_k.weight") && !has(i, "attn_v.weight");
  // The tensors know better than the keys.
  if (const int64_t rows = extent(i, "attn_k.weight", 1);
      rows > 0 && block.kv_heads > 0 && rows % block.kv_heads == 0) {
    block.key_dim = rows / block.kv_heads;
    if (block.value_is_key) block.value_dim = block.key_dim;
  }
  if (const int64_t rows = extent(i, "attn_v.weight", 1);
      rows > 0 && block.kv_heads > 0 && rows % block.kv_heads == 0) {
    block.value_dim = rows / block.kv_heads;
  }
  if (const int64_t rows = extent(i, "attn_q.weight", 1); rows > 0) {
    block.output_gate = rows == 2 * saturating_multiply(block.query_heads, block.key_dim);
  }
  block.window = slides ? window_ : 0;
  block.chunked = slides && row_ != nullptr && row_->chunked;
  block.qkv_bias = has(i, "attn_q.bias") || has(i, "attn_qkv.bias");
  block.output_bias = has(i, "attn_output.bias");
  if (const int64_t width = extent(i, "attn_q_norm.weight", 0); width > 0) {
    block.qk_norm = width == block.key_dim ? QkNorm::per_head : QkNorm::full_width;
  }
  block.rope = turns(i);
  if (row_ != nullptr && row_->weightless_qk_norm && block.rope) {
    block.qk_norm = QkNorm::weightless;
  }
  block.sinks = has(i, "attn_sinks.weight") || has(i, "attn_sinks");
  block.score_softcap = keys_.number_or("attn_logit_softcapping", 0) > 0;
  block.query_scaled = row_ != nullptr && row_->query_scaled;
  block.scaled_by_position = keys_.number_or("attention.temperature_scale", 0) > 0;
  if (owner_[at] != i) block.shared_with = owner_[at];
  layer.mixers.push_back(block);
  layer.caches.push_back(cache_of(block));
}

void FromGguf::add_latent(Layer& layer, int64_t i) const {
  LatentBlock block;
  block.query_heads = heads_[size_t(i)];
  block.kv_lora_rank = keys_.integer_or("attention.kv_lora_rank", 0);
  block.rope_dim = keys_.integer_or("rope.dimension_count", 0);
  if (const int64_t rows = extent(i, "attn_kv_a_mqa.weight", 1); rows > block.rope_dim) {
    if (block.kv_lora_rank == 0) block.kv_lora_rank = rows - block.rope_dim;
  }
  if (has(i, "attn_q_a.weight")) block.q_lora_rank = extent(i, "attn_q_a.weight", 1);
  const bool absorbed = has(i, "attn_k_b.weight");
  const int64_t key =
      keys_.integer_or("attention.key_length_mla", keys_.integer_or("attention.key_length", 0));
  const int64_t value =
      keys_.integer_or("attention.value_length_mla", keys_.integer_or("attention.value_length", 0));
  block.nope_dim =
      absorbed ? extent(i, "attn_k_b.weight", 0) : std::max<int64_t>(0, key - block.rope_dim);
  block.value_dim = absorbed ? extent(i, "attn_v_b.weight", 1) : value;
  if (absorbed && block.query_heads == 0) block.query_heads = extent(i, "attn_k_b.weight", 2);
  const bool indexer = has(i, "indexer.attn_q_b.weight");
  if (indexer) {
    block.indexer_heads = keys_.integer_or("attention.indexer.head_count", 0);
    block.indexer_dim = keys_.integer_or("attention.indexer.key_length", 0);
    block.indexer_top_k = keys_.integer_or("attention.indexer.top_k", 0);
  }
  layer.mixers.push_back(block);
  // Files of before the absorbed form, and two architectures always, keep K and V of every head.
  if (absorbed && !(row_ != nullptr && row_->latent_per_head)) {
    layer.caches.push_back(LatentAttention{block.kv_lora_rank, block.rope_dim});
  } else {
    layer.caches.push_back(
        FullAttention{block.query_heads, block.nope_dim + block.rope_dim, block.value_dim});
  }
  if (indexer) layer.caches.push_back(IndexerKeys{block.indexer_dim});
}

void FromGguf::add_recurrent(Layer& layer, int64_t i) const {
  const auto add = [&](CacheLayout state) {
    layer.mixers.push_back(RecurrentBlock{state});
    layer.caches.push_back(std::move(state));
  };
  const int64_t conv = keys_.integer_or("ssm.conv_kernel", 0);
  const int64_t inner = keys_.integer_or("ssm.inner_size", 0);
  const int64_t state = keys_.integer_or("ssm.state_size", 0);
  const int64_t rank = keys_.integer_or("ssm.time_step_rank", 0);
  const int64_t groups = keys_.integer_or("ssm.group_count", 0);
  if (has(i, "ssm_conv1d_q.weight")) {
    const int64_t head = keys_.integer_or("kda.head_dim", 0);
    // ssm_conv1d_q is {kernel, (1,) heads * head_dim}.
    const GgufTensorEntry* tensor = find(i, "ssm_conv1d_q.weight");
    const int64_t width = tensor->extent[0] > 0 ? tensor->elements() / tensor->extent[0] : 0;
    add(KimiDeltaState{head > 0 ? width / head : 0, head, conv});
  } else if (has(i, "ssm_conv1d.weight") &&
             (has(i, "ssm_ba.weight") || has(i, "ssm_beta.weight"))) {
    add(GatedDeltaState{groups, rank, state, rank > 0 ? inner / rank : 0, conv, std::nullopt});
  } else if (has(i, "ssm_conv1d.weight")) {
    if (has(i, "ssm_x.weight") || groups == 0) {
      add(Mamba1State{inner, state, conv, std::nullopt});
    } else {
      add(Mamba2State{rank, rank > 0 ? inner / rank : 0, groups, state, conv, std::nullopt});
    }
  } else if (has(i, "shortconv.conv.weight")) {
    add(ShortConvState{model_.hidden_size, keys_.integer_or("shortconv.l_cache", 0)});
  } else if (has(i, "time_mix_key.weight")) {
    const int64_t head = keys_.integer_or("wkv.head_size", 0);
    add(RwkvState{model_.hidden_size, head > 0 ? model_.hidden_size / head : 0, head,
                  keys_.integer_or("token_shift_count", 2)});
  }
}

MoeFeedForward FromGguf::experts(int64_t i) const {
  MoeFeedForward moe;
  const bool merged = has(i, "ffn_gate_up_exps.weight");
  const std::string_view up = merged ? "ffn_gate_up_exps.weight" : "ffn_up_exps.weight";
  moe.experts = std::max<int64_t>(extent(i, up, 2), 1);
  moe.active = keys_.integer_or("expert_used_count", 0);
  moe.width = merged ? extent(i, up, 1) / 2 : extent(i, up, 1);
  moe.shared_width = extent(i, "ffn_up_shexp.weight", 1);
  moe.shared_gate = has(i, "ffn_gate_inp_shexp.weight");
  moe.gated = merged || has(i, "ffn_gate_exps.weight");
  moe.biased = has(i, "ffn_up_exps.bias");
  moe.correction_bias = has(i, "exp_probs_b.bias") || has(i, "exp_probs_b");
  const GgufNormalise normalise = row_ != nullptr ? row_->normalise : GgufNormalise::by_key;
  moe.normalise_weights =
      normalise == GgufNormalise::always ||
      (normalise == GgufNormalise::by_key && keys_.flag("expert_weights_norm").value_or(false));
  moe.weights_before = row_ != nullptr && row_->weights_before;
  const double scale = keys_.number_or("expert_weights_scale", 0);
  moe.scale_weights = scale != 0 && scale != 1;
  // 1 softmax, 2 sigmoid, 3 softmax of the selected.
  switch (keys_.integer_or("expert_gating_func", 0)) {
    case 1: moe.gating = RouterGating::softmax; break;
    case 2: moe.gating = RouterGating::sigmoid; break;
    case 3: moe.gating = RouterGating::softmax_after_selection; break;
    default: moe.gating = row_ != nullptr ? row_->gating : RouterGating::softmax;
  }
  if (const int64_t latent = extent(i, "ffn_latent_down.weight", 1); latent > 0) {
    moe.latent_width = latent;
  }
  moe.dense_width = extent(i, "ffn_up.weight", 1);
  moe.expert_groups = keys_.integer_or("expert_group_count", 0);
  return moe;
}

FeedForward FromGguf::feed_forward(int64_t i) const {
  if (has(i, "ffn_up_exps.weight") || has(i, "ffn_gate_up_exps.weight")) return experts(i);
  DenseFeedForward dense;
  dense.width = extent(i, "ffn_down.weight", 0);
  if (dense.width == 0) dense.width = extent(i, "channel_mix_key.weight", 1);
  if (dense.width == 0) return NoFeedForward{};
  dense.fused_gate_up =
      !has(i, "ffn_gate.weight") && extent(i, "ffn_up.weight", 1) == 2 * dense.width;
  dense.gated = has(i, "ffn_gate.weight") || dense.fused_gate_up;
  dense.bias = has(i, "ffn_down.bias");
  return dense;
}

Layer FromGguf::layer(int64_t i) const {
  Layer layer;
  const bool latent = has(i, "attn_kv_a_mqa.weight");
  const bool attends =
      has(i, "attn_output.weight") || has(i, "attn_qkv.weight") || has(i, "attn_q.weight");
  const bool delta =
      has(i, "ssm_conv1d_q.weight") || has(i, "ssm_ba.weight") || has(i, "ssm_beta.weight");
  if (latent) {
    add_latent(layer, i);
  } else if (attends && !delta && heads_[size_t(i)] > 0 && kv_heads_[size_t(i)] > 0) {
    add_attention(layer, i);
  }
  add_recurrent(layer, i);
  layer.feed_forward = feed_forward(i);
  layer.norm = has(i, "attn_norm.bias")                        ? NormKind::layer_norm_bias
               : keys_.has("attention.layer_norm_rms_epsilon") ? NormKind::rms
               : keys_.has("attention.layer_norm_epsilon")     ? NormKind::layer_norm
                                                               : NormKind::rms;
  layer.pre_attention_norm = has(i, "attn_norm.weight");
  layer.post_attention_norm = has(i, "post_attention_norm.weight") &&
                              (has(i, "ffn_norm.weight") || !layer.pre_attention_norm);
  layer.post_ffn_norm = has(i, "post_ffw_norm.weight");
  layer.parallel = keys_.flag("use_parallel_residual").value_or(false) ||
                   (attends && layer.pre_attention_norm && !has(i, "ffn_norm.weight") &&
                    !has(i, "post_attention_norm.weight") &&
                    !std::holds_alternative<NoFeedForward>(layer.feed_forward));
  return layer;
}

void FromGguf::add_tensors() {
  for (const GgufTensorEntry& entry : file_.tensors) {
    Tensor tensor;
    tensor.name = entry.name;
    const GgufName name = split_gguf_name(entry.name);
    tensor.role = gguf_role(name);
    tensor.layer = name.layer;
    // ggml lists the contiguous extent first, shapes here the outermost.
    tensor.shape.rank = std::max(entry.rank, 1);
    for (int d = 0; d < tensor.shape.rank; ++d) {
      tensor.shape.extent[size_t(d)] = entry.extent[size_t(tensor.shape.rank - 1 - d)];
    }
    if (name.layer >= trunk_ && trunk_ > 0) {
      tensor.part = Part::mtp;
    } else if (is_gguf_buffer(name.rest)) {
      tensor.part = Part::buffer;
    } else if (tensor.role == Role::output_head) {
      tensor.part = Part::head;
    } else if (tensor.role == Role::tower) {
      tensor.part = starts_with(entry.name, "a.") ? Part::audio : Part::vision;
    } else if (tensor.role == Role::projector) {
      tensor.part = Part::projector;
    } else if (name.layer >= 0 && owner_.size() > size_t(name.layer) &&
               owner_[size_t(name.layer)] != name.layer &&
               (tensor.role == Role::key || tensor.role == Role::value ||
                tensor.role == Role::key_norm)) {
      tensor.part = Part::stored_unused;
    }
    model_.tensors.push_back(std::move(tensor));
  }
}

void FromGguf::add_rope_table() {
  RopeTable table;
  table.positions = model_.max_positions;
  table.rotary_dim = keys_.integer_or("rope.dimension_count", 0);
  if (table.rotary_dim == 0) {
    for (const Layer& layer : model_.layers) {
      for (const Mixer& mixer : layer.mixers) {
        if (const auto* block = std::get_if<AttentionBlock>(&mixer)) {
          table.rotary_dim = std::max(table.rotary_dim, block->key_dim);
        }
      }
    }
  }
  if (table.positions > 0 && table.rotary_dim > 0) model_.rope_tables.push_back(table);
}

void FromGguf::say_what_was_inferred() {
  if (row_ == nullptr) {
    model_.notes.warn(
        "gguf_architecture_unknown",
        "architecture '" + keys_.architecture() +
            "' is not known: its weights are counted exactly, its caches are inferred "
            "from the standard keys and may be wrong");
  }
  const bool keeps_nothing = std::all_of(model_.layers.begin(), model_.layers.end(),
                                         [](const Layer& layer) { return layer.caches.empty(); });
  if (keeps_nothing && !model_.is_encoder_only) {
    model_.notes.warn("gguf_no_cache", "no layer of the file was recognised as keeping a cache");
  }
}

Result<Model> FromGguf::build() {
  model_.architecture = keys_.architecture();
  model_.model_type = keys_.architecture();
  model_.gguf.architecture = keys_.architecture();
  model_.dtype = DType::float16;
  const std::string_view type = file_.text("general.type");
  const bool has_layers = keys_.has("block_count") && type != "adapter" && type != "mmproj" &&
                          !keys_.architecture().empty();
  if (!has_layers) {
    add_tensors();
    model_.notes.warn("gguf_no_model",
                      file_.name + " holds no language model" +
                          (type == "adapter" ? ": it is a LoRA adapter"
                           : file_.find("clip.has_vision_encoder") != nullptr || type == "mmproj"
                               ? ": it is a projector for images or sound"
                               : ""));
    return std::move(model_);
  }
  TRY(read_sizes());
  read_windows();
  read_cache_owners();
  for (int64_t i = 0; i < blocks_; ++i) {
    (i < trunk_ ? model_.layers : model_.mtp_layers).push_back(layer(i));
  }
  add_tensors();
  model_.tied_head = std::none_of(model_.tensors.begin(), model_.tensors.end(),
                                  [](const Tensor& t) { return t.part == Part::head; });
  model_.embedding_scaled = row_ != nullptr && row_->embedding_scaled;
  model_.logit_softcap = keys_.number_or("final_logit_softcapping", 0) > 0;
  model_.gguf.suppresses_tokens = file_.find("tokenizer.ggml.suppress_tokens") != nullptr;
  model_.is_encoder_only = (row_ != nullptr && row_->symmetric) ||
                           keys_.flag("attention.causal") == std::optional<bool>(false);
  if (model_.is_encoder_only) {
    for (Layer& layer : model_.layers) layer.caches.clear();
  }
  model_.gguf.rope_freqs = std::any_of(file_.tensors.begin(), file_.tensors.end(),
                                       [](const auto& t) { return starts_with(t.name, "rope_f"); });
  add_rope_table();
  say_what_was_inferred();
  return std::move(model_);
}

}  // namespace

Result<Model> from_gguf(const formats::GgufFile& file, std::string_view id) {
  return FromGguf(file, id).build();
}

}  // namespace vramwise::model
