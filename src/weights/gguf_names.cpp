#include "weights/gguf_names.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "base/text.h"
#include "weights/gguf_name_tables.h"
#include "weights/gguf_rwkv.h"
#include "weights/matrix.h"

namespace vramwise::weights {
namespace {

using model::Part;
using model::Role;
using model::Tensor;

// The checkpoint name behind "layers.3." (or all of it for tensors of no layer).
std::string_view behind_layer(const Tensor& tensor) {
  std::string_view rest = tensor.name;
  if (tensor.layer < 0) return rest;
  const std::string_view lists[] = {"layers.", "blocks.", "layer.", "h."};
  for (const std::string_view list : lists) {
    const size_t at = rest.find(list);
    if (at == std::string_view::npos) continue;
    const size_t dot = rest.find('.', at + list.size());
    if (dot != std::string_view::npos) return rest.substr(dot + 1);
  }
  return rest;
}

std::string norm_name(const model::Model& model, const Tensor& tensor, const GgufQuirks& quirks) {
  std::string_view module = behind_layer(tensor);
  std::string_view kind = ".weight";
  if (ends_with(module, ".bias")) kind = ".bias";
  if (ends_with(module, kind)) module.remove_suffix(kind.size());
  std::string_view name;
  if (tensor.layer < 0) {
    name = "output_norm";
  } else if (module == "post_attention_layernorm") {
    const model::Layer* layer = layer_of(model, tensor);
    // Behind the mixer in Gemma and OLMo 2; in front of the MLP elsewhere, whatever the name.
    const bool behind_mixer =
        layer && layer->post_attention_norm && !quirks.plain_post_attention_norm;
    name = behind_mixer || quirks.post_attention_norm ? "post_attention_norm" : "ffn_norm";
  } else if (const NamePair* p = by_end(layer_norm_names(), module)) {
    name = p->to;
  } else {
    name = module == "norm" ? std::string_view("attn_norm") : module;
  }
  return std::string(name) + std::string(kind);
}

// Stacks that the checkpoint stores as a numbered list: "altup_projections.0.weight".
std::string_view stack_name(const Tensor& tensor) {
  if (tensor.layer >= 0) return {};
  if (contains(tensor.name, "altup_projections.")) return "altup_proj.weight";
  if (contains(tensor.name, "altup_unembed_projections.")) return "altup_unembd_proj.weight";
  return {};
}

std::string base_name(const model::Model& model, const Tensor& tensor, const GgufQuirks& quirks) {
  const bool mtp = tensor.part == Part::mtp;
  if (mtp && tensor.role == Role::token_embedding) return "nextn.embed_tokens.weight";
  if (mtp && tensor.role == Role::output_head) return "nextn.shared_head_head.weight";
  if (const std::string_view stack = stack_name(tensor); !stack.empty()) return std::string(stack);
  const bool of_layer = tensor.layer >= 0;
  const std::span<const NamePair> ends = of_layer ? layer_names() : model_names();
  const bool settled = !gguf_name_of(tensor.role).empty();
  // Recurrent mixers have few roles and many names; a bias may carry its matrix's role.
  const bool recurrent = tensor.role == Role::recurrent_in || tensor.role == Role::recurrent_norm ||
                         tensor.role == Role::recurrent_out;
  const bool bias = tensor.shape.rank < 2 && ends_with(tensor.name, ".bias");
  if (!settled || recurrent || bias) {
    if (const NamePair* p = by_end(ends, tensor.name)) return std::string(p->to);
  }
  if (settled) {
    std::string name(gguf_name_of(tensor.role));
    if (bias && ends_with(name, ".weight")) name = name.substr(0, name.size() - 6) + "bias";
    return name;
  }
  if (tensor.role == Role::norm) return norm_name(model, tensor, quirks);
  return std::string(behind_layer(tensor));
}

std::array<int64_t, 4> stored_extent(const Tensor& tensor) {
  // Row-major [a, b, c] is ggml {c, b, a}. Size-1 middle axes (depthwise convolutions) go away.
  std::array<int64_t, 4> extent = {1, 1, 1, 1};
  size_t n = 0;
  for (int i = tensor.shape.rank - 1; i >= 0; --i) {
    const int64_t e = tensor.shape[i];
    if (e != 1 || (n == 0 && i == 0)) extent[n++] = e;
  }
  if (tensor.copies > 1 && n < 4) extent[n] = tensor.copies;
  return extent;
}

const model::LatentBlock* latent_of(const model::Layer* layer) {
  if (!layer) return nullptr;
  for (const model::Mixer& mixer : layer->mixers) {
    if (const auto* block = std::get_if<model::LatentBlock>(&mixer)) return block;
  }
  return nullptr;
}

const model::GatedDeltaState* delta_of(const model::Layer* layer) {
  if (!layer) return nullptr;
  for (const model::Mixer& mixer : layer->mixers) {
    const auto* block = std::get_if<model::RecurrentBlock>(&mixer);
    if (!block) continue;
    if (const auto* state = std::get_if<model::GatedDeltaState>(&block->state)) return state;
  }
  return nullptr;
}

// Gate and up as two tensors of half the outputs.
std::vector<GgufPiece> halves(std::string_view gate, std::string_view up,
                              std::array<int64_t, 4> extent, size_t axis) {
  extent[axis] /= 2;
  return {{std::string(gate), extent}, {std::string(up), extent}};
}

std::vector<GgufPiece> pieces_of(const model::Model& model, const Tensor& tensor,
                                 const GgufQuirks& quirks) {
  const model::Layer* layer = layer_of(model, tensor);
  const bool expert = is_routed_expert(tensor.role);
  std::array<int64_t, 4> extent = stored_extent(tensor);
  const auto matrix = matrix_of(model, tensor);
  if (matrix && (tensor.shape.rank == 2 || expert) && tensor.role != Role::shared_expert_router) {
    extent = {matrix->in, matrix->out, matrix->count, 1};
  }
  switch (tensor.role) {
    case Role::kv_up: {
      const model::LatentBlock* mla = latent_of(layer);
      if (!mla || quirks.keeps_kv_b) return {{"attn_kv_b.weight", extent}};
      // The halves that absorption multiplies with, one matrix a head.
      return {{"attn_k_b.weight", {mla->nope_dim, mla->kv_lora_rank, mla->query_heads, 1}},
              {"attn_v_b.weight", {mla->kv_lora_rank, mla->value_dim, mla->query_heads, 1}}};
    }
    case Role::expert_fused_gate_up:
      if (quirks.stacks_gate_up) return {{"ffn_gate_up_exps.weight", extent}};
      return halves("ffn_gate_exps.weight", "ffn_up_exps.weight", extent, 1);
    case Role::expert_fused_gate_up_bias:
      return halves("ffn_gate_exps.bias", "ffn_up_exps.bias", extent, 0);
    case Role::shared_expert_fused_gate_up:
      return halves("ffn_gate_shexp.weight", "ffn_up_shexp.weight", extent, 1);
    case Role::ffn_fused_gate_up:
      if (!quirks.splits_gate_up) break;
      return halves("ffn_gate.weight", "ffn_up.weight", extent, 1);
    case Role::recurrent_in:
      if (ends_with(tensor.name, "in_proj_qkvz.weight")) {
        if (const model::GatedDeltaState* s = delta_of(layer)) {
          const int64_t values = saturating_multiply(s->value_heads, s->value_dim);
          return {{"attn_qkv.weight", {extent[0], extent[1] - values, 1, 1}},
                  {"attn_gate.weight", {extent[0], values, 1, 1}}};
        }
      }
      break;
    case Role::recurrent_norm:
      // Mamba 2 normalises per group: {inner / groups, groups}.
      if (layer) {
        for (const model::CacheLayout& cache : layer->caches) {
          const auto* s = std::get_if<model::Mamba2State>(&cache);
          if (s && s->groups > 1 && extent[0] % s->groups == 0) {
            extent = {extent[0] / s->groups, s->groups, 1, 1};
          }
        }
      }
      break;
    default: break;
  }
  return {{base_name(model, tensor, quirks), extent}};
}

}  // namespace

int dimensions(const std::array<int64_t, 4>& extent) {
  int n = 4;
  while (n > 1 && extent[size_t(n - 1)] == 1) --n;
  return n;
}

bool stays_f32(std::string_view name, const std::array<int64_t, 4>& extent) {
  if (dimensions(extent) <= 1 || !ends_with(name, ".weight") || ends_with(name, "_norm.weight")) {
    return true;
  }
  constexpr std::string_view kParts[] = {
      "ffn_gate_inp",       "position_embd",      "token_types",  "ssm_conv1d",  "shortconv.conv",
      "altup_correct_coef", "altup_predict_coef", "altup_router", "indexer.proj"};
  constexpr std::string_view kTimeMix = "time_mix_";
  constexpr std::string_view kTimeMixParts[] = {"first", "lerp_fused", "decay_w", "w1", "w2", "a1",
                                                "a2",    "v1",         "v2",      "g1", "g2"};
  for (const std::string_view part : kParts) {
    if (contains(name, part)) return true;
  }
  const size_t at = name.find(kTimeMix);
  if (at == std::string_view::npos) return false;
  const std::string_view rest = name.substr(at + kTimeMix.size());
  return std::any_of(std::begin(kTimeMixParts), std::end(kTimeMixParts),
                     [&](std::string_view part) { return starts_with(rest, part); });
}

std::vector<GgufPiece> gguf_pieces(const model::Model& model, const Tensor& tensor,
                                   const GgufQuirks& quirks) {
  // Encoders are read before their pooler.
  if (starts_with(tensor.name, "pooler.")) return {};
  switch (tensor.part) {
    case Part::text:
    case Part::head: break;
    case Part::mtp:
      if (!quirks.keeps_mtp) return {};
      break;
    case Part::buffer:
      // Masks, rotary tables and the clamps of towers stay behind.
      if (tensor.role == Role::other || tensor.role == Role::tower ||
          tensor.role == Role::projector) {
        return {};
      }
      break;
    case Part::stored_unused:
      // Layers that read another's cache: their keys and values are converted all the same.
      if (tensor.role == Role::key || tensor.role == Role::value || tensor.role == Role::key_norm) {
        break;
      }
      return {};
    case Part::tied_head:
    case Part::vision:
    case Part::audio:
    case Part::projector: return {};
  }
  if (quirks.rwkv_names && tensor.layer >= 0) {
    std::vector<GgufPiece> own = rwkv_pieces(tensor);
    if (!own.empty()) return own;
  }
  std::vector<GgufPiece> pieces = pieces_of(model, tensor, quirks);
  if (tensor.layer >= 0) {
    const std::string block = "blk." + format_integer(tensor.layer) + ".";
    for (GgufPiece& piece : pieces) piece.name.insert(0, block);
  }
  if (tensor.role == Role::token_embedding && tensor.part == Part::text &&
      model.gguf.vocab_rows > 0) {
    pieces.front().extent[1] = model.gguf.vocab_rows;
  }
  return pieces;
}

}  // namespace vramwise::weights
