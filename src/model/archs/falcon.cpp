// Falcon 7B, 40B and 180B. num_kv_heads counts only in the new decoder architecture.
// Source: transformers models/falcon/modeling_falcon.py.
#include "model/arch_rule.h"
#include "model/builder.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.tied = true, .positions = 2048, .gguf = "falcon"});
  const int64_t heads = fields.small({"num_attention_heads", "n_head"});
  const int64_t layers = fields.layers();
  const bool grouped = fields.flag({"new_decoder_architecture"}, false);
  const bool parallel = fields.flag({"parallel_attn"}, true);
  const bool bias = fields.flag({"bias"}, false);
  const int64_t width = fields.extent_or({"ffn_hidden_size"}, 4 * b.hidden());
  const bool two_norms = grouped && fields.small_or({"num_ln_in_parallel_attn"}, 2) == 2;
  AttentionBlock block;
  block.query_heads = heads;
  block.kv_heads = fields.flag({"multi_query"}, true) ? 1 : heads;
  if (grouped) block.kv_heads = fields.divisor_or({"num_kv_heads", "n_head_kv"}, heads);
  block.key_dim = block.value_dim =
      fields.divide(b.hidden(), "hidden_size", heads, "num_attention_heads");
  block.fused_qkv = true;
  block.qkv_bias = block.output_bias = bias;
  block.rope = !fields.flag({"alibi"}, false);
  b.set_norm(NormKind::layer_norm_bias);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("transformer.h.", i);
    b.attention(block, {.scope = "self_attention.", .o = "dense", .fused = "query_key_value"});
    b.plain_mlp(width, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h", bias);
    b.layer().parallel = parallel || grouped;
    if (two_norms) {
      b.pre_norms("ln_attn", "ln_mlp");
    } else {
      b.norm("input_layernorm");
      if (!parallel) b.norm("post_attention_layernorm");
    }
  }
  b.end_layers("transformer.");
  b.embedding("word_embeddings");
  b.norm("ln_f");
  b.head();
  if (block.rope) add_rope_table(fields, b.model(), block.key_dim);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"falcon", "RefinedWeb", "RefinedWebModel"};
constexpr std::string_view kClasses[] = {"FalconForCausalLM", "RWForCausalLM"};

}  // namespace

const ArchRule& arch_falcon() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
