// GPT-2 and StarCoder 1 (gpt_bigcode). GPT-2 stores its matrices as [in, out].
// Source: transformers models/gpt2, models/gpt_bigcode.
#include "model/arch_rule.h"
#include "model/builder.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  const bool bigcode = fields.text_or({"model_type"}, "gpt2") == "gpt_bigcode";
  Builder b(fields, fields,
            {.tied = true, .positions = 1024, .gguf = bigcode ? "starcoder" : "gpt2"});
  const Heads heads = read_heads(fields);
  const int64_t h = heads.hidden, layers = fields.layers();
  const int64_t width = fields.extent_or({"n_inner", "intermediate_size"}, 4 * h);
  AttentionBlock block;
  block.query_heads = heads.query;
  block.kv_heads = bigcode && fields.flag({"multi_query"}, true) ? 1 : heads.query;
  block.key_dim = block.value_dim = heads.dim;
  block.fused_qkv = true;
  block.qkv_bias = block.output_bias = true;
  block.rope = false;
  b.set_norm(NormKind::layer_norm_bias);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("transformer.h.", i);
    if (bigcode) {
      b.attention(block, {.scope = "attn.", .o = "c_proj", .fused = "c_attn"});
      b.plain_mlp(width, "mlp.c_fc", "mlp.c_proj", true);
    } else {
      b.add(Role::fused_qkv, "attn.c_attn.weight", {h, 3 * h});
      b.add(Role::fused_qkv_bias, "attn.c_attn.bias", {3 * h});
      b.linear(Role::attention_output, "attn.c_proj", h, h, true);
      b.layer().mixers.push_back(block);
      b.cache(cache_of(block));
      b.add(Role::ffn_up, "mlp.c_fc.weight", {h, width});
      b.add(Role::ffn_up_bias, "mlp.c_fc.bias", {width});
      b.add(Role::ffn_down, "mlp.c_proj.weight", {width, h});
      b.add(Role::ffn_down_bias, "mlp.c_proj.bias", {h});
      b.layer().feed_forward = DenseFeedForward{.width = width, .gated = false, .bias = true};
    }
    b.pre_norms("ln_1", "ln_2");
  }
  b.end_layers("transformer.");
  b.embedding("wte");
  b.add(Role::position_embedding, "wpe.weight",
        {fields.extent_or({"n_positions", "n_ctx"}, 1024), h});
  b.norm("ln_f");
  b.head();
  return b.finish();
}

constexpr std::string_view kTypes[] = {"gpt2", "gpt_bigcode"};
constexpr std::string_view kClasses[] = {"GPT2LMHeadModel", "GPTBigCodeForCausalLM"};

}  // namespace

const ArchRule& arch_gpt2() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
