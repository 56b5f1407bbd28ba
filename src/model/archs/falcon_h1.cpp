// Falcon-H1: attention and Mamba-2 side by side in every layer.
// Source: transformers models/falcon_h1/modeling_falcon_h1.py.
#include "model/arch_rule.h"
#include "model/builder.h"
#include "model/mamba_parts.h"
#include "model/plain_attention.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 8192, .gguf = "falcon-h1"});
  const Heads heads = read_heads(fields);
  const int64_t layers = fields.layers();
  const int64_t width = fields.extent({"intermediate_size"});
  const bool bias = fields.flag({"attention_bias"}, false);
  // mamba_d_ssm is the inner width where it is given.
  Mamba2Spec mamba;
  const int64_t inner = fields.extent_or({"mamba_d_ssm"}, 0);
  if (inner > 0) {
    mamba.heads = fields.small({"mamba_n_heads"});
    mamba.head_dim = fields.divide(inner, "mamba_d_ssm", mamba.heads, "mamba_n_heads");
    mamba.groups = fields.divisor_or({"mamba_n_groups"}, 1);
    mamba.state = fields.divisor_or({"mamba_d_state"}, 256);
    mamba.conv_kernel = fields.divisor_or({"mamba_d_conv"}, 4);
    mamba.conv_bias = fields.flag({"mamba_conv_bias"}, true);
    mamba.bias = fields.flag({"mamba_proj_bias"}, false);
  } else {
    mamba = read_mamba2_prefixed(fields);
  }
  mamba.gated_norm = fields.flag({"mamba_rms_norm"}, false);
  mamba.output_bias = fields.flag({"projectors_bias"}, false);
  AttentionBlock block = plain_attention(heads);
  block.qkv_bias = block.output_bias = bias;
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("model.layers.", i);
    b.attention(block);
    b.mamba2(mamba, "mamba.");
    b.gated_mlp(width, fields.flag({"mlp_bias"}, false), {.scope = "feed_forward."});
    b.pre_norms("input_layernorm", "pre_ff_layernorm");
  }
  b.end_layers("model.");
  b.embedding();
  b.norm("final_layernorm");
  b.head();
  add_rope_table(fields, b.model(), heads.dim);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"falcon_h1"};
constexpr std::string_view kClasses[] = {"FalconH1ForCausalLM"};

}  // namespace

const ArchRule& arch_falcon_h1() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
