// gpt-oss 20B and 120B. The bf16 shapes below are those of the module: [experts, in, out], with
// gate and up interleaved; the published checkpoint packs them to MXFP4 as [experts, out, in / 32,
// 16]. Source: transformers models/gpt_oss/modeling_gpt_oss.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 131072, .gguf = "gpt-oss"});
  const bool bias = fields.flag({"attention_bias"}, true);
  const int64_t window = fields.extent_or({"sliding_window"}, 128);
  const std::vector<std::string> types = layer_types(fields, fields.layers(), 2);
  MoeFeedForward moe;
  moe.experts = fields.experts_or({"num_local_experts", "num_experts"}, 128);
  moe.active = fields.experts_or({"num_experts_per_tok", "experts_per_token"}, 4);
  moe.width = fields.extent({"intermediate_size"});
  moe.biased = true;
  moe.normalise_weights = false;
  moe.gating = RouterGating::softmax_after_selection;
  LlamaLike options;
  options.heads = {.kv_heads = 8, .head_dim = 64};
  options.qkv_bias = options.output_bias = bias;
  options.rope_table = false;
  options.attention = [&](int64_t i, AttentionBlock& block) {
    block.sinks = true;
    if (types[size_t(i)] == "sliding_attention") block.window = window;
  };
  options.feed_forward = [&](int64_t) {
    const int64_t e = moe.experts, h = b.hidden();
    b.linear(Role::router, "mlp.router", e, h, true);
    b.add(Role::expert_fused_gate_up, "mlp.experts.gate_up_proj", {e, h, 2 * moe.width});
    b.add(Role::expert_fused_gate_up_bias, "mlp.experts.gate_up_proj_bias", {e, 2 * moe.width});
    b.add(Role::expert_down, "mlp.experts.down_proj", {e, moe.width, h});
    b.add(Role::expert_down_bias, "mlp.experts.down_proj_bias", {e, h});
    b.layer().feed_forward = moe;
    return true;
  };
  const Heads heads = add_llama_like(b, options);
  add_rope_table(fields, b.model(), heads.dim, true);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"gpt_oss"};
constexpr std::string_view kClasses[] = {"GptOssForCausalLM"};

}  // namespace

const ArchRule& arch_gpt_oss() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
