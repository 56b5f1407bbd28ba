// StableLM 2 and Stable Code. Source: transformers models/stablelm/modeling_stablelm.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 4096, .gguf = "stablelm"});
  const bool head_norms = fields.flag({"qk_layernorm"}, false);
  LlamaLike options;
  options.qkv_bias = fields.flag({"use_qkv_bias"}, false);
  options.norm_kind = NormKind::layer_norm_bias;
  options.norms =
      fields.flag({"use_parallel_residual"}, false) ? NormPlan::parallel : NormPlan::pre;
  options.rotary_share = 0.25;
  options.attention = [&](int64_t, AttentionBlock& block) {
    if (!head_norms) return;
    // One LayerNorm without bias for each head.
    b.add(Role::query_norm, "self_attn.q_layernorm.norms.{e}.weight", {block.key_dim},
          block.query_heads);
    b.add(Role::key_norm, "self_attn.k_layernorm.norms.{e}.weight", {block.key_dim},
          block.kv_heads);
  };
  add_llama_like(b, options);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"stablelm", "stablelm_epoch"};
constexpr std::string_view kClasses[] = {"StableLmForCausalLM"};

}  // namespace

const ArchRule& arch_stablelm() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
