// Jamba: attention without rotary in one layer of eight, Mamba in the others; experts in every
// other one. Source: transformers models/jamba/modeling_jamba.py.
#include "model/arch_rule.h"
#include "model/builder.h"
#include "model/mamba_parts.h"
#include "model/plain_attention.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 262144, .gguf = "jamba"});
  const Heads heads = read_heads(fields, {.kv_heads = 8});
  const int64_t layers = fields.layers();
  const int64_t width = fields.extent({"intermediate_size"});
  Mamba1Spec mamba;
  mamba.inner = fields.small_or({"mamba_expand"}, 2) * b.hidden();
  mamba.state = fields.divisor_or({"mamba_d_state"}, 16);
  mamba.conv_kernel = fields.divisor_or({"mamba_d_conv"}, 4);
  mamba.rank = read_rank(fields, {"mamba_dt_rank"});
  mamba.conv_bias = fields.flag({"mamba_conv_bias"}, true);
  mamba.bias = fields.flag({"mamba_proj_bias"}, false);
  mamba.inner_norms = true;
  const int64_t attention_period = fields.divisor_or({"attn_layer_period"}, 8);
  const int64_t attention_offset = fields.small_or({"attn_layer_offset"}, 4);
  const int64_t expert_period = fields.divisor_or({"expert_layer_period"}, 2);
  const int64_t expert_offset = fields.small_or({"expert_layer_offset"}, 1);
  MoeFeedForward moe;
  moe.experts = fields.experts_or({"num_experts"}, 16);
  moe.active = fields.experts_or({"num_experts_per_tok"}, 2);
  moe.width = width;
  moe.normalise_weights = false;
  AttentionBlock block = plain_attention(heads);
  block.rope = false;
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("model.layers.", i);
    if (i % attention_period == attention_offset) {
      b.attention(block);
    } else {
      b.mamba1(mamba, "mamba.");
    }
    if (moe.experts > 1 && i % expert_period == expert_offset) {
      b.moe(moe, {.router = "feed_forward.router", .experts = "feed_forward.experts.{e}."});
    } else {
      b.gated_mlp(width, false, {.scope = "feed_forward."});
    }
    b.pre_norms("input_layernorm", "pre_ff_layernorm");
  }
  b.end_layers("model.");
  b.embedding();
  b.norm("final_layernorm");
  b.head();
  return b.finish();
}

constexpr std::string_view kTypes[] = {"jamba"};
constexpr std::string_view kClasses[] = {"JambaForCausalLM"};

}  // namespace

const ArchRule& arch_jamba() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
