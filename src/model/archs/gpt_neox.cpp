// Pythia, GPT-NeoX and Dolly. Source: transformers models/gpt_neox/modeling_gpt_neox.py.
#include "model/arch_rule.h"
#include "model/builder.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 2048, .gguf = "gptneox"});
  const Heads heads = read_heads(fields);
  const int64_t layers = fields.layers();
  const int64_t width = fields.extent({"intermediate_size"});
  AttentionBlock block;
  block.query_heads = block.kv_heads = heads.query;
  block.key_dim = block.value_dim = heads.dim;
  block.fused_qkv = true;
  block.qkv_bias = block.output_bias = fields.flag({"attention_bias"}, true);
  b.set_norm(NormKind::layer_norm_bias);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("gpt_neox.layers.", i);
    b.pre_norms("input_layernorm", "post_attention_layernorm");
    b.attention(block, {.scope = "attention.", .o = "dense", .fused = "query_key_value"});
    b.plain_mlp(width, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h", true);
    b.layer().parallel = fields.flag({"use_parallel_residual"}, true);
  }
  b.end_layers("gpt_neox.");
  b.embedding("embed_in");
  b.norm("final_layer_norm");
  b.head("embed_out");
  add_rope_table(fields, b.model(), heads.dim, read_rope_scaling(fields, "full_attention", 0.25));
  return b.finish();
}

constexpr std::string_view kTypes[] = {"gpt_neox"};
constexpr std::string_view kClasses[] = {"GPTNeoXForCausalLM"};

}  // namespace

const ArchRule& arch_gpt_neox() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
