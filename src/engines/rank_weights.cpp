#include "engines/rank_weights.h"

#include <algorithm>

#include "engines/torch_blocks.h"
#include "engines/weight_roles.h"

namespace vramwise::engines {
namespace {

using model::Part;
using model::Role;
using model::Tensor;
using weights::Kernel;
using weights::Scheme;
using weights::SchemeKind;

bool is_down(Role role) { return role == Role::expert_down || role == Role::expert_down_bias; }

// Bits of one packed weight; scales and zero points are tensors of their own.
int64_t code_bits(const Scheme& s, int64_t plain_bytes) {
  switch (s.kind) {
    case SchemeKind::plain: return 8 * plain_bytes;
    case SchemeKind::fp8_tensor:
    case SchemeKind::fp8_channel:
    case SchemeKind::fp8_block:
    case SchemeKind::int8_channel:
    case SchemeKind::mxfp8:
    case SchemeKind::bnb_int8: return 8;
    case SchemeKind::gptq:
    case SchemeKind::wna16:
    case SchemeKind::mlx_affine: return s.bits;
    case SchemeKind::awq:
    case SchemeKind::w4a8_fp8:
    case SchemeKind::nvfp4:
    case SchemeKind::mxfp4:
    case SchemeKind::bnb_nf4: return 4;
  }
  return 0;
}

// The gate and up projections of all experts of a layer are one parameter.
constexpr size_t kExpertsIn = size_t(Merge::shared_gate_up) + 1;
// Gated delta layers whose checkpoint stores qkv and z apart load them into one in_proj_qkvz.
// Source: vllm model_executor/models/qwen3_5.py.
constexpr size_t kDeltaIn = kExpertsIn + 1;
static_assert(kDeltaIn < ParameterBlocks::kGroups);

class Loader {
 public:
  Loader(const model::Model& model, const RankLayout& layout, const LoadRules& rules)
      : model_(model), layout_(layout), rules_(rules) {}

  void add(const Tensor& t, const Scheme& stored);
  void finish() {
    for (Pending& p : pending_) flush(p);
    put(WeightItem::blocks, blocks_.finish());
  }
  RankWeights& result() { return result_; }

 private:
  struct Pending {
    int32_t layer = -1;
    const Scheme* scheme = nullptr;
    int64_t in = 0, out = 0;
    WeightItem item = WeightItem::attention;
  };

  void put(WeightItem item, Bytes bytes) { result_.bytes[size_t(item)] += bytes; }
  void flush(Pending& p) {
    if (p.scheme != nullptr) put(p.item, matrix(*p.scheme, p.in, p.out, rules_.kernel));
    p.scheme = nullptr;
  }
  // The block of one [out, in] matrix, or of all that are merged with it.
  void allocate(const Scheme& scheme, int64_t in, int64_t out, int64_t copies, size_t group,
                int32_t layer) {
    if (!rules_.whole_blocks) return;
    const int64_t bits = code_bits(scheme, element_bytes(scheme));
    const Bytes bytes(saturating_multiply(saturating_multiply(in, out), bits) / 8);
    if (group == 0 || layer < 0) {
      blocks_.add(bytes, copies);
    } else {
      blocks_.add_part(group, layer, bytes * copies);
    }
  }
  Bytes matrix(const Scheme& scheme, int64_t in, int64_t out, Kernel kernel) const {
    if (scheme.kind == SchemeKind::nvfp4 && rules_.second_scales) {
      return weights::loaded(scheme, in, out, kernel) + Bytes(ceil_div(in, 16) * out);
    }
    if (scheme.kind != SchemeKind::plain) return weights::loaded(scheme, in, out, kernel);
    return Bytes(saturating_multiply(in, out)) * element_bytes(scheme);
  }
  // A plain matrix is loaded in the engine's type unless it is kept in fp32 or fp8 on purpose.
  int64_t element_bytes(const Scheme& scheme) const {
    if (scheme.plain_type == DType::float8) return 1;
    if (scheme.plain_type == DType::float32 && model_.dtype != DType::float32) return 4;
    return dtype_bytes(rules_.plain);
  }
  int64_t plain_bytes(const Tensor& t) const {
    if (t.dtype && *t.dtype == DType::float32) return 4;
    if (t.dtype && (*t.dtype == DType::int32 || *t.dtype == DType::int64)) return 4;
    if (t.role == Role::router_correction_bias || t.role == Role::recurrent_parameter) return 4;
    return dtype_bytes(rules_.plain);
  }
  const model::Layer* layer_of(const Tensor& t) const;
  const model::AttentionBlock* attention_of(const Tensor& t) const;
  bool is_spare(const Tensor& t) const;
  size_t block_group(const Tensor& t) const;
  bool gated_experts(const Tensor& t) const;
  bool on_this_stage(const Tensor& t) const;
  void add_expert(const Tensor& t, const Scheme& scheme);
  void add_adapter(int64_t in, int64_t out);
  int64_t experts_here(int64_t experts) const;

  const model::Model& model_;
  const RankLayout& layout_;
  const LoadRules& rules_;
  std::array<Pending, 5> pending_;
  ParameterBlocks blocks_;
  RankWeights result_;
};

const model::Layer* Loader::layer_of(const Tensor& t) const {
  const auto trunk = int64_t(model_.layers.size());
  if (t.layer >= 0 && t.layer < trunk) return &model_.layers[size_t(t.layer)];
  if (t.layer >= trunk && t.layer - trunk < int64_t(model_.mtp_layers.size())) {
    return &model_.mtp_layers[size_t(t.layer - trunk)];
  }
  return nullptr;
}

const model::AttentionBlock* Loader::attention_of(const Tensor& t) const {
  const model::Layer* layer = layer_of(t);
  if (layer == nullptr) return nullptr;
  for (const model::Mixer& mixer : layer->mixers) {
    if (const auto* block = std::get_if<model::AttentionBlock>(&mixer)) return block;
  }
  return nullptr;
}

// Made from keys and values of its own, in a layer that reads another layer's cache.
bool Loader::is_spare(const Tensor& t) const {
  if (t.role != Role::key && t.role != Role::value && t.role != Role::key_norm) return false;
  const auto* block = attention_of(t);
  return block != nullptr && block->shared_with >= 0;
}

// Tensors of the same group and layer end up in one parameter; 0: each in its own.
size_t Loader::block_group(const Tensor& t) const {
  if (t.copies != 1) return 0;
  const model::Layer* layer = t.role == Role::recurrent_in ? layer_of(t) : nullptr;
  for (size_t i = 0; layer != nullptr && i < layer->mixers.size(); ++i) {
    const auto* block = std::get_if<model::RecurrentBlock>(&layer->mixers[i]);
    if (block != nullptr && std::holds_alternative<model::GatedDeltaState>(block->state))
      return kDeltaIn;
  }
  return size_t(merge_of(t.role));
}

bool Loader::gated_experts(const Tensor& t) const {
  const model::Layer* layer = layer_of(t);
  const auto* moe =
      layer == nullptr ? nullptr : std::get_if<model::MoeFeedForward>(&layer->feed_forward);
  return moe == nullptr || moe->gated;
}

bool Loader::on_this_stage(const Tensor& t) const {
  if (t.part == Part::mtp) return layout_.last_stage;
  if (t.layer >= 0 && t.part != Part::vision && t.part != Part::audio &&
      t.part != Part::projector) {
    return t.layer >= layout_.first_layer && t.layer < layout_.end_layer;
  }
  switch (t.role) {
    case Role::output_head:
    case Role::output_head_bias: return layout_.last_stage;
    case Role::token_embedding:
      // A tied head is the embedding again, on the last stage.
      return layout_.first_stage || (model_.tied_head && layout_.last_stage);
    case Role::position_embedding:
    case Role::type_embedding:
    case Role::per_layer_embedding:
    case Role::tower:
    case Role::projector: return layout_.first_stage;
    case Role::norm: return layout_.last_stage;  // the final norm
    default: return true;
  }
}

int64_t Loader::experts_here(int64_t experts) const {
  return ceil_div(experts + layout_.spare_experts, layout_.expert_ranks);
}

void Loader::add_expert(const Tensor& t, const Scheme& scheme) {
  const bool down = is_down(t.role);
  const ExpertPadding none;
  const bool marlin = rules_.expert_kernel == Kernel::marlin;
  const ExpertPadding& pad = scheme.kind == SchemeKind::mxfp4 ||
                                     (scheme.kind == SchemeKind::plain && is_expert_bias(t.role))
                                 ? rules_.mxfp4_experts
                             : scheme.kind == SchemeKind::nvfp4 && !marlin && !gated_experts(t)
                                 ? rules_.nvfp4_experts
                                 : none;
  // [experts, a, b] in one tensor, or `copies` of [out, in].
  int64_t experts = t.copies;
  int64_t a = t.shape[0], b = t.shape[1];
  int rank = t.shape.rank;
  if (t.copies == 1 && (rank == 3 || (is_expert_bias(t.role) && rank == 2))) {
    experts = t.shape[0];
    a = t.shape[1];
    b = t.shape[2];
    --rank;
  }
  const int64_t here = experts_here(experts);
  if (is_expert_bias(t.role)) {
    const bool fused = t.role == Role::expert_fused_gate_up_bias;
    int64_t out = down    ? round_up(a, pad.hidden_out)
                  : fused ? 2 * round_up(a / 2 / layout_.expert_tensor, pad.width_out)
                          : round_up(a / layout_.expert_tensor, pad.width_out);
    put(WeightItem::experts, Bytes(out) * here * dtype_bytes(rules_.plain));
    return;
  }
  int64_t out = a, in = b;
  // Some checkpoints store [experts, in, out]: the side that is as wide as the hidden states tells.
  if (t.copies == 1 && !down && b != model_.hidden_size && a == model_.hidden_size)
    std::swap(in, out);
  if (t.copies == 1 && down && a != model_.hidden_size && b == model_.hidden_size)
    std::swap(in, out);
  if (down) {
    in = round_up(in / layout_.expert_tensor, pad.width_in);
    out = round_up(out, pad.hidden_out);
  } else {
    const int64_t halves = t.role == Role::expert_fused_gate_up ? 2 : 1;
    in = round_up(in, pad.hidden_in);
    out = halves * round_up(out / halves / layout_.expert_tensor, pad.width_out);
  }
  const WeightItem item = t.part == Part::mtp ? WeightItem::mtp : WeightItem::experts;
  put(item, matrix(scheme, in, out, rules_.expert_kernel) * here);
  if (down) {
    allocate(scheme, in, out * here, 1, 0, t.layer);
  } else {
    allocate(scheme, in, out, here, kExpertsIn, t.layer);
  }
}

// A adapts the inputs, B the outputs, one pair per slot.
void Loader::add_adapter(int64_t in, int64_t out) {
  if (rules_.lora_slots <= 0) return;
  put(WeightItem::lora, Bytes(in + out) * rules_.lora_rank * rules_.lora_slots * 2);
}

void Loader::add(const Tensor& t, const Scheme& stored) {
  if (t.part == Part::tied_head) return;
  if (is_spare(t) ? !rules_.spare_projections : t.part == Part::stored_unused) return;
  if (t.part == Part::mtp) {
    const int64_t index = t.layer - int64_t(model_.layers.size());
    if (index >= rules_.mtp_layers) return;
    if (!rules_.mtp_vocabulary && split_of(t.role) == Split::vocabulary) return;
  }
  const bool in_tower = t.part == Part::vision || t.part == Part::audio ||
                        t.part == Part::projector || t.role == Role::tower ||
                        t.role == Role::projector;
  if (in_tower && !rules_.towers) return;
  if (t.role == Role::ngram_embedding && !rules_.ngram_tables) return;
  if (!on_this_stage(t)) return;
  const Scheme& scheme =
      rules_.online && stored.kind == SchemeKind::plain && is_linear(t.role) && !in_tower
          ? *rules_.online
          : stored;
  const WeightItem item = item_of(t);
  const Split split = split_of(t.role);
  const int64_t ranks = layout_.tensor;
  const int64_t attention = layout_.attention;

  if (split == Split::expert_column || split == Split::expert_row) return add_expert(t, scheme);
  if (in_tower) {
    const bool matrix_like = t.shape.rank == 2;
    const int64_t part = matrix_like ? ceil_div(t.elements(), ranks) : t.elements();
    put(WeightItem::tower, Bytes(part) * dtype_bytes(rules_.plain));
    return;
  }
  if (split == Split::vocabulary) {
    const int64_t rows = round_up(t.shape[0], rules_.vocabulary_multiple) / ranks;
    if (t.shape.rank == 1) {
      put(item, Bytes(rows) * plain_bytes(t));
    } else {
      put(item, matrix(scheme, t.shape[1], rows, rules_.kernel));
      allocate(scheme, t.shape[1], rows, 1, 0, t.layer);
    }
    return;
  }
  // Vectors, convolutions and state parameters are never quantised.
  if (t.shape.rank != 2 || split == Split::flat) {
    const bool query_key_value = split == Split::key_value || split == Split::fused_qkv;
    int64_t elements = t.elements();
    if (split == Split::flat || split == Split::column) {
      elements = ceil_div(elements, ranks);
    } else if (query_key_value) {
      const auto* block = attention_of(t);
      const int64_t heads = block == nullptr ? attention : std::max<int64_t>(1, block->kv_heads);
      elements = ceil_div(elements, std::min(attention, heads));
    }
    put(item, Bytes(elements) * plain_bytes(t));
    return;
  }

  int64_t out = t.shape[0], in = t.shape[1];
  switch (split) {
    case Split::column: {
      const bool of_attention = item == WeightItem::attention;
      out = ceil_div(out, of_attention ? attention : ranks);
      break;
    }
    case Split::key_value: {
      const auto* block = attention_of(t);
      const int64_t heads = block == nullptr ? attention : std::max<int64_t>(1, block->kv_heads);
      out = ceil_div(out, std::min(attention, heads));
      break;
    }
    case Split::fused_qkv: {
      const auto* block = attention_of(t);
      if (block == nullptr) {
        out = ceil_div(out, attention);
      } else {
        const int64_t kv = block->kv_heads * (block->key_dim + block->value_dim);
        const int64_t kv_here =
            ceil_div(kv, std::min(attention, std::max<int64_t>(1, block->kv_heads)));
        out = ceil_div(std::max<int64_t>(0, out - kv), attention) + kv_here;
      }
      break;
    }
    case Split::row: {
      const bool input_side = t.role != Role::recurrent_projection || in >= out;
      const int64_t by = item == WeightItem::attention ? attention : ranks;
      if (input_side) {
        in = ceil_div(in, by);
      } else {
        out = ceil_div(out, by);
      }
      break;
    }
    default: break;
  }
  if (is_linear(t.role)) {
    for (int64_t i = 0; i < t.copies; ++i) add_adapter(in, out);
  }
  const Merge merge = merge_of(t.role);
  allocate(scheme, in, out, t.copies, block_group(t), t.layer);
  if (merge != Merge::none && t.copies == 1 && t.layer >= 0 && scheme.kind != SchemeKind::plain) {
    Pending& p = pending_[size_t(merge)];
    if (p.scheme != nullptr && (p.layer != t.layer || !(*p.scheme == scheme) || p.in != in))
      flush(p);
    if (p.scheme == nullptr) p = {t.layer, &scheme, in, 0, item};
    p.out += out;
  } else if (scheme.kind == SchemeKind::plain && t.dtype) {
    put(item, Bytes(saturating_multiply(in, out)) * t.copies * plain_bytes(t));
  } else {
    put(item, matrix(scheme, in, out, rules_.kernel) * t.copies);
  }
  // V that is the K projection is still a matrix of its own once loaded.
  if (rules_.value_copies && t.role == Role::key) {
    const auto* block = attention_of(t);
    if (block != nullptr && block->value_is_key) put(item, matrix(scheme, in, out, rules_.kernel));
  }
}

void add_latent_copies(const model::Model& model, const RankLayout& layout, const LoadRules& rules,
                       RankWeights& result) {
  for (int64_t i = layout.first_layer; i < layout.end_layer; ++i) {
    for (const model::Mixer& mixer : model.layers[size_t(i)].mixers) {
      const auto* block = std::get_if<model::LatentBlock>(&mixer);
      if (block == nullptr || !rules.absorbed_latent) continue;
      const int64_t elements = block->query_heads / layout.attention * block->kv_lora_rank *
                               (block->nope_dim + block->value_dim);
      result.bytes[size_t(WeightItem::absorbed)] += Bytes(elements) * dtype_bytes(rules.plain);
    }
  }
}

// A GGUF file in a PyTorch engine: matrices are divided, vectors are not; which is which follows
// from the shape.
void add_gguf(const weights::GgufModel& gguf, const RankLayout& layout, RankWeights& result) {
  for (const weights::GgufTensor& t : gguf.tensors) {
    if (t.mtp) continue;
    if (t.layer >= 0 && (t.layer < layout.first_layer || t.layer >= layout.end_layer)) continue;
    const bool matrix = t.extent[1] > 1;
    const int64_t bytes = matrix ? ceil_div(t.bytes().count(), layout.tensor) : t.bytes().count();
    const WeightItem item = !matrix           ? WeightItem::small
                            : t.layer < 0     ? WeightItem::embedding
                            : t.extent[2] > 1 ? WeightItem::experts
                                              : WeightItem::feed_forward;
    result.bytes[size_t(item)] += Bytes(bytes);
  }
}

}  // namespace

Bytes ngram_table_bytes(const model::Model& model, const weights::Weights& weights) {
  Bytes sum;
  for (size_t i = 0; weights.recipe && i < model.tensors.size(); ++i) {
    if (model.tensors[i].role != Role::ngram_embedding) continue;
    sum += weights::at_rest_bytes(model, model.tensors[i], weights.recipe->scheme(i));
  }
  return sum;
}

std::string_view to_string(WeightItem item) {
  switch (item) {
    case WeightItem::embedding: return "embedding";
    case WeightItem::ngram_table: return "n-gram table";
    case WeightItem::output_head: return "output head";
    case WeightItem::attention: return "attention";
    case WeightItem::recurrent: return "recurrent mixers";
    case WeightItem::feed_forward: return "feed-forward";
    case WeightItem::experts: return "experts";
    case WeightItem::router: return "routers";
    case WeightItem::small: return "norms and small tensors";
    case WeightItem::tower: return "vision and audio towers";
    case WeightItem::mtp: return "multi-token prediction";
    case WeightItem::absorbed: return "absorbed latent projections";
    case WeightItem::rotary: return "rotary tables";
    case WeightItem::lora: return "adapter slots";
    case WeightItem::blocks: return "rounding of the allocator";
    case WeightItem::drafter: return "drafter";
  }
  return "";
}

Bytes RankWeights::total() const {
  Bytes sum;
  for (const Bytes b : bytes) sum += b;
  return sum;
}

RankWeights rank_weights(const model::Model& model, const weights::Weights& weights,
                         const RankLayout& layout, const LoadRules& rules) {
  Loader loader(model, layout, rules);
  if (weights.gguf) {
    add_gguf(*weights.gguf, layout, loader.result());
  } else if (weights.recipe) {
    for (size_t i = 0; i < model.tensors.size(); ++i) {
      loader.add(model.tensors[i], weights.recipe->scheme(i));
    }
    loader.finish();
  }
  RankWeights result = loader.result();
  add_latent_copies(model, layout, rules, result);
  for (const model::RopeTable& table : model.rope_tables) {
    const int64_t width = table.float32 ? 4 : dtype_bytes(rules.plain);
    result.bytes[size_t(WeightItem::rotary)] +=
        Bytes(saturating_multiply(table.positions, table.rotary_dim)) * width * table.sections;
  }
  return result;
}

RankWeights without_offloaded(const RankWeights& weights, Bytes offloaded) {
  RankWeights left = weights;
  while (offloaded.count() > 0) {
    const auto largest = std::max_element(left.bytes.begin(), left.bytes.end());
    const Bytes moved = std::min(offloaded, *largest);
    if (moved.count() == 0) break;
    *largest -= moved;
    offloaded -= moved;
  }
  return left;
}

StageRange stage_layers(int64_t layers, int64_t stages, int64_t stage) {
  const int64_t each = layers / stages;
  const int64_t rest = layers % stages;
  // The remainder goes to the stages just before the last, which already holds the head.
  StageRange range;
  for (int64_t i = 0; i <= stage; ++i) {
    const bool extra = rest > 0 && i >= stages - 1 - rest && i < stages - 1;
    range.first = range.end;
    range.end = range.first + each + (extra ? 1 : 0);
  }
  return range;
}

}  // namespace vramwise::engines
