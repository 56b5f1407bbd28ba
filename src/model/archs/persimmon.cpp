// Persimmon: biases and LayerNorms everywhere, one matrix for q, k, v, half of each head rotated;
// and Fuyu, which is a Persimmon with one matrix for patches of an image.
// Source: transformers models/persimmon, models/fuyu.
#include "model/arch_rule.h"
#include "model/llama_like.h"
#include "model/towers/tower.h"
#include "model/wrapped.h"

namespace vramwise::model {
namespace {

Result<Model> build_text(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 16384});
  const bool norms = fields.flag({"qk_layernorm"}, true);
  LlamaLike options;
  options.qkv_bias = options.output_bias = options.mlp_bias = true;
  options.fused = true;
  options.gated = false;
  options.norm_kind = NormKind::layer_norm_bias;
  options.rotary_share = 0.5;
  if (norms) options.qk_norm = QkNorm::per_head;
  options.attention_names = {
      .o = "dense", .q_norm = "q_layernorm", .k_norm = "k_layernorm", .fused = "query_key_value"};
  options.mlp_names = {.up = "dense_h_to_4h", .down = "dense_4h_to_h"};
  options.final_norm = "final_layernorm";
  // Every query head has a key head of its own, and the heads' norms have biases.
  options.attention = [&](int64_t, AttentionBlock& block) {
    block.kv_heads = block.query_heads;
    if (!norms) return;
    b.add(Role::query_norm, "self_attn.q_layernorm.bias", {block.key_dim});
    b.add(Role::key_norm, "self_attn.k_layernorm.bias", {block.key_dim});
  };
  add_llama_like(b, options);
  return b.finish();
}

void add_patches(Builder& b, const Fields& top) {
  const int64_t patch = top.divisor_or({"patch_size"}, 30);
  const int64_t channels = top.divisor_or({"num_channels"}, 3);
  begin_projector(b, "");
  projector_linear(b, "vision_embed_tokens", b.hidden(), patch * patch * channels, true);
}

constexpr Wrapped kFuyu{.type = "fuyu", .language = "persimmon", .towers = add_patches};

Result<Model> build(const json::Reader& config) {
  const std::string type = Fields(config).text_or({"model_type"}, "persimmon");
  return type == "fuyu" ? build_wrapped(config, kFuyu) : build_text(config);
}

constexpr std::string_view kTypes[] = {"persimmon", "fuyu"};
constexpr std::string_view kClasses[] = {"PersimmonForCausalLM", "FuyuForCausalLM"};

}  // namespace

const ArchRule& arch_persimmon() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
