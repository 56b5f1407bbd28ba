// MPT: ALiBi, LayerNorm without bias. Source: transformers models/mpt/modeling_mpt.py.
#include "model/arch_rule.h"
#include "model/builder.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.tied = true, .positions = 2048, .gguf = "mpt"});
  const Heads heads = read_heads(fields);
  const int64_t layers = fields.layers();
  const int64_t width = fields.small_or({"expansion_ratio"}, 4) * heads.hidden;
  AttentionBlock block;
  block.query_heads = block.kv_heads = heads.query;
  if (const auto attention = fields.section({"attn_config"})) {
    block.kv_heads = attention->divisor_or({"kv_n_heads"}, heads.query);
  }
  block.key_dim = block.value_dim = heads.dim;
  block.fused_qkv = true;
  block.rope = false;
  b.set_norm(NormKind::layer_norm);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("transformer.blocks.", i);
    b.pre_norms("norm_1", "norm_2");
    b.attention(block, {.scope = "attn.", .o = "out_proj", .fused = "Wqkv"});
    b.plain_mlp(width, "ffn.up_proj", "ffn.down_proj", false);
  }
  b.end_layers("transformer.");
  b.embedding("wte");
  b.norm("norm_f");
  b.head();
  return b.finish();
}

constexpr std::string_view kTypes[] = {"mpt"};
constexpr std::string_view kClasses[] = {"MPTForCausalLM", "MptForCausalLM"};

}  // namespace

const ArchRule& arch_mpt() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
