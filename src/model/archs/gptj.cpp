// GPT-J: attention beside the MLP, a head with a bias. Source: transformers models/gptj.
#include "model/arch_rule.h"
#include "model/builder.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 2048, .gguf = "gptj"});
  const Heads heads = read_heads(fields);
  const int64_t layers = fields.layers();
  const int64_t width = fields.extent_or({"n_inner"}, 4 * heads.hidden);
  AttentionBlock block;
  block.query_heads = block.kv_heads = heads.query;
  block.key_dim = block.value_dim = heads.dim;
  b.set_norm(NormKind::layer_norm_bias);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("transformer.h.", i);
    b.parallel_norm("ln_1");
    b.attention(block, {.scope = "attn.", .o = "out_proj"});
    b.plain_mlp(width, "mlp.fc_in", "mlp.fc_out", true);
  }
  b.end_layers("transformer.");
  b.embedding("wte");
  b.norm("ln_f");
  b.head("lm_head", true);
  add_rope_table(fields, b.model(), fields.small_or({"rotary_dim"}, 64));
  return b.finish();
}

constexpr std::string_view kTypes[] = {"gptj"};
constexpr std::string_view kClasses[] = {"GPTJForCausalLM"};

}  // namespace

const ArchRule& arch_gptj() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
