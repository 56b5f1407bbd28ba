#include "model/from_safetensors.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/text.h"
#include "model/builder.h"
#include "model/config_fields.h"

namespace vramwise::model {
namespace {

using formats::SafetensorsEntry;
using formats::SafetensorsFile;

struct Ending {
  std::string_view text;
  Role role;
};

// The last parts of a name, the longer ones first.
constexpr Ending kEndings[] = {
    {"embed_tokens.weight", Role::token_embedding},
    {"word_embeddings.weight", Role::token_embedding},
    {"wte.weight", Role::token_embedding},
    {"lm_head.weight", Role::output_head},
    {"embed_out.weight", Role::output_head},
    {"shared_experts.gate_proj.weight", Role::shared_expert_gate},
    {"shared_experts.up_proj.weight", Role::shared_expert_up},
    {"shared_experts.down_proj.weight", Role::shared_expert_down},
    {"shared_expert.gate_proj.weight", Role::shared_expert_gate},
    {"shared_expert.up_proj.weight", Role::shared_expert_up},
    {"shared_expert.down_proj.weight", Role::shared_expert_down},
    {"q_a_proj.weight", Role::query_down},
    {"q_b_proj.weight", Role::query_up},
    {"kv_a_proj_with_mqa.weight", Role::kv_down},
    {"kv_b_proj.weight", Role::kv_up},
    {"q_proj.weight", Role::query},
    {"k_proj.weight", Role::key},
    {"v_proj.weight", Role::value},
    {"qkv_proj.weight", Role::fused_qkv},
    {"query_key_value.weight", Role::fused_qkv},
    {"o_proj.weight", Role::attention_output},
    {"q_proj.bias", Role::query_bias},
    {"k_proj.bias", Role::key_bias},
    {"v_proj.bias", Role::value_bias},
    {"q_norm.weight", Role::query_norm},
    {"k_norm.weight", Role::key_norm},
    {"gate_up_proj.weight", Role::ffn_fused_gate_up},
    {"gate_proj.weight", Role::ffn_gate},
    {"up_proj.weight", Role::ffn_up},
    {"down_proj.weight", Role::ffn_down},
    {"mlp.gate.weight", Role::router},
    {"router.weight", Role::router},
    {"norm.weight", Role::norm},
    {"layernorm.weight", Role::norm},
};

// Side tensors of quantised matrices: no parameters of the model.
constexpr std::string_view kSideTensors[] = {".scales",
                                             ".qzeros",
                                             ".g_idx",
                                             "_scale",
                                             "_scale_inv",
                                             "_scale_2",
                                             "_zero_point",
                                             ".absmax",
                                             ".quant_map",
                                             ".nested_absmax",
                                             "_packed_shape",
                                             "_shape",
                                             "_global_scale",
                                             "e_score_correction_bias",
                                             ".nested_quant_map",
                                             "bitsandbytes__nf4",
                                             "inv_freq"};

bool is_side_tensor(std::string_view name) {
  return std::any_of(std::begin(kSideTensors), std::end(kSideTensors),
                     [&](std::string_view side) { return ends_with(name, side); });
}

Role role_of(std::string_view name) {
  for (const Ending& ending : kEndings) {
    if (!ends_with(name, ending.text)) continue;
    if (!contains(name, ".experts.")) return ending.role;
    switch (ending.role) {
      case Role::ffn_gate: return Role::expert_gate;
      case Role::ffn_up: return Role::expert_up;
      case Role::ffn_down: return Role::expert_down;
      default: return ending.role;
    }
  }
  return Role::other;
}

Part part_of(std::string_view name, Role role) {
  if (is_side_tensor(name)) return Part::buffer;
  if (role == Role::output_head) return Part::head;
  for (const std::string_view tower :
       {"vision_tower", "visual.", "vision_model", "vision_encoder"}) {
    if (contains(name, tower)) return Part::vision;
  }
  if (contains(name, "audio_tower") || contains(name, "audio_encoder")) return Part::audio;
  if (contains(name, "multi_modal_projector")) return Part::projector;
  return Part::text;
}

// The N of "….layers.N.…", -1 when there is none.
int32_t layer_of_name(std::string_view name) {
  for (const std::string_view list : {"layers.", "blocks.", "h."}) {
    for (size_t at = name.find(list); at != std::string_view::npos; at = name.find(list, at + 1)) {
      if (at > 0 && name[at - 1] != '.') continue;
      const size_t start = at + list.size();
      const size_t dot = name.find('.', start);
      if (dot == std::string_view::npos) break;
      const auto n = parse_integer(name.substr(start, dot - start));
      if (n && *n >= 0 && *n < 100'000) return int32_t(*n);
    }
  }
  return -1;
}

struct LayerFacts {
  int64_t key_rows = 0, value_rows = 0;  // of k_proj and v_proj
  bool attention = false, latent = false, fused = false;
  int64_t experts = 0, expert_width = 0;
  int64_t ffn_width = 0;
};

Tensor tensor_of(const SafetensorsEntry& entry) {
  Tensor tensor;
  tensor.name = entry.name;
  tensor.role = role_of(entry.name);
  tensor.part = part_of(entry.name, tensor.role);
  tensor.layer = layer_of_name(entry.name);
  // A shape here has four extents; further ones go into the last.
  tensor.shape.rank = std::clamp(entry.rank, 1, 4);
  for (int32_t d = 0; d < entry.rank; ++d) {
    int64_t& extent = tensor.shape.extent[size_t(std::min(d, 3))];
    extent = d < 4 ? entry.extent[size_t(d)] : saturating_multiply(extent, entry.extent[size_t(d)]);
  }
  // Two 4-bit numbers a byte, eight a word: counted as what they stand for.
  const bool packed = ends_with(entry.name, "qweight") || ends_with(entry.name, "weight_packed") ||
                      ends_with(entry.name, "_blocks");
  if (packed && entry.type->name == "I32") tensor.copies = 8;
  if (packed && entry.type->name == "U8") tensor.copies = 2;
  return tensor;
}

}  // namespace

Result<Model> from_safetensors(const SafetensorsFile& files, const json::Reader& config,
                               std::string_view id) {
  Model model;
  model.id = std::string(id);
  const Fields top(config);
  const Fields text = top.text();
  model.architecture = "unknown";
  if (const auto classes = config.find("architectures");
      classes && classes->value().is_array() && !classes->value().as_array().empty() &&
      classes->value().as_array()[0].is_string()) {
    model.architecture = classes->value().as_array()[0].as_string();
  }
  model.model_type = text.text_or({"model_type"}, "");
  model.dtype = read_dtype(top, text);
  model.hidden_size = text.extent_or({"hidden_size", "n_embd", "d_model"}, 0);
  model.max_positions = text.extent_or({"max_position_embeddings", "max_seq_len", "n_ctx"}, 0);
  const int64_t heads = text.small_or({"num_attention_heads", "n_head"}, 0);
  const int64_t kv_heads = text.small_or({"num_key_value_heads", "num_kv_heads"}, heads);
  const int64_t usual = heads > 0 ? model.hidden_size / heads : 0;
  const int64_t head_dim = text.small_or({"head_dim"}, usual);
  const int64_t lora = text.extent_or({"kv_lora_rank"}, 0);
  const int64_t rope = text.small_or({"qk_rope_head_dim"}, 0);
  const int64_t stated =
      text.number({"num_hidden_layers", "n_layer", "num_layers"}, 0, 0, kMaxLayers);
  const int64_t active = text.experts_or({"num_experts_per_tok", "num_experts_per_token"}, 0);

  std::map<int32_t, LayerFacts> facts;
  for (const SafetensorsEntry& entry : files.tensors) {
    Tensor tensor = tensor_of(entry);
    if (tensor.role == Role::token_embedding && tensor.part == Part::text) {
      model.vocab_size = std::max(model.vocab_size, tensor.shape[0]);
    }
    const bool trunk = tensor.part == Part::text && tensor.layer >= 0;
    if (trunk && (stated == 0 || tensor.layer < stated)) {
      LayerFacts& layer = facts[tensor.layer];
      switch (tensor.role) {
        case Role::key: layer.key_rows = tensor.shape[0]; [[fallthrough]];
        case Role::query: layer.attention = true; break;
        case Role::value: layer.value_rows = tensor.shape[0]; break;
        case Role::fused_qkv: layer.attention = layer.fused = true; break;
        case Role::kv_down: layer.latent = true; break;
        case Role::ffn_up: layer.ffn_width = tensor.shape[0]; break;
        case Role::expert_up:
          ++layer.experts;
          layer.expert_width = tensor.shape[0];
          break;
        default: break;
      }
    } else if (trunk && stated > 0) {
      tensor.part = Part::mtp;
    }
    model.tensors.push_back(std::move(tensor));
  }
  if (text.failed()) return fail(*text.fault());
  const int64_t layers =
      stated > 0 ? stated : (facts.empty() ? 0 : int64_t(facts.rbegin()->first) + 1);
  if (layers == 0 || layers > kMaxLayers) {
    return fail(config.error(ErrorCode::unsupported,
                             "the family is not known, and its files name no layers"));
  }
  for (int64_t i = 0; i < layers; ++i) {
    Layer layer;
    const LayerFacts& known = facts[int32_t(i)];
    if (known.latent && lora > 0) {
      LatentBlock block;
      block.query_heads = heads;
      block.kv_lora_rank = lora;
      block.rope_dim = rope;
      block.nope_dim = text.small_or({"qk_nope_head_dim"}, 0);
      block.value_dim = text.small_or({"v_head_dim"}, 0);
      layer.mixers.push_back(block);
      layer.caches.push_back(LatentAttention{lora, rope});
    } else if (known.attention && kv_heads > 0) {
      AttentionBlock block;
      block.query_heads = heads;
      block.kv_heads = kv_heads;
      block.key_dim = block.value_dim = head_dim;
      block.fused_qkv = known.fused;
      // Quantised matrices have other extents than the model's.
      if (head_dim > 0 && known.key_rows >= head_dim && known.key_rows % head_dim == 0 &&
          known.key_rows == known.value_rows) {
        block.kv_heads = known.key_rows / head_dim;
      }
      layer.mixers.push_back(block);
      layer.caches.push_back(cache_of(block));
    }
    if (known.experts > 0) {
      MoeFeedForward moe;
      moe.experts = known.experts;
      moe.active = std::min(active, known.experts);
      moe.width = known.expert_width;
      layer.feed_forward = moe;
    } else if (known.ffn_width > 0) {
      layer.feed_forward = DenseFeedForward{.width = known.ffn_width};
    } else {
      layer.feed_forward = NoFeedForward{};
    }
    model.layers.push_back(std::move(layer));
  }
  if (const auto quantisation = config.find("quantization_config")) {
    model.quantization_config = quantisation->value();
  }
  model.notes.append(text.notes());
  model.notes.warn("family_unknown",
                   "model_type '" + model.model_type +
                       "' is not known: the weights are counted exactly from the files, the caches "
                       "are inferred from the standard keys and may be wrong");
  return model;
}

}  // namespace vramwise::model
