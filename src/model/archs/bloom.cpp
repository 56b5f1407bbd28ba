// BLOOM: ALiBi instead of positions, a norm behind the embedding.
// Source: transformers models/bloom/modeling_bloom.py.
#include "model/arch_rule.h"
#include "model/builder.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.tied = true, .positions = 2048, .gguf = "bloom"});
  const Heads heads = read_heads(fields);
  const int64_t layers = fields.layers();
  AttentionBlock block;
  block.query_heads = block.kv_heads = heads.query;
  block.key_dim = block.value_dim = heads.dim;
  block.fused_qkv = true;
  block.qkv_bias = block.output_bias = true;
  block.rope = false;
  b.set_norm(NormKind::layer_norm_bias);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("transformer.h.", i);
    b.pre_norms("input_layernorm", "post_attention_layernorm");
    b.attention(block, {.scope = "self_attention.", .o = "dense", .fused = "query_key_value"});
    b.plain_mlp(4 * heads.hidden, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h", true);
  }
  b.end_layers("transformer.");
  b.embedding("word_embeddings");
  b.norm("word_embeddings_layernorm");
  b.norm("ln_f");
  b.head();
  return b.finish();
}

constexpr std::string_view kTypes[] = {"bloom"};
constexpr std::string_view kClasses[] = {"BloomForCausalLM"};

}  // namespace

const ArchRule& arch_bloom() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
