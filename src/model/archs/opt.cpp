// OPT: learned positions with an offset of two; the 350M projects its narrow embedding.
// Source: transformers models/opt/modeling_opt.py.
#include "model/arch_rule.h"
#include "model/builder.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.tied = true, .positions = 2048});
  const Heads heads = read_heads(fields);
  const int64_t h = heads.hidden, layers = fields.layers();
  const int64_t narrow = fields.extent_or({"word_embed_proj_dim"}, h);
  const int64_t width = fields.extent({"ffn_dim"});
  const bool bias = fields.flag({"enable_bias"}, true);
  const bool before = fields.flag({"do_layer_norm_before"}, true);
  AttentionBlock block;
  block.query_heads = block.kv_heads = heads.query;
  block.key_dim = block.value_dim = heads.dim;
  block.qkv_bias = block.output_bias = bias;
  block.rope = false;
  b.set_norm(NormKind::layer_norm_bias);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("model.decoder.layers.", i);
    b.attention(block, {.o = "out_proj"});
    b.plain_mlp(width, "fc1", "fc2", bias);
    b.pre_norms("self_attn_layer_norm", "final_layer_norm");
    b.layer().pre_attention_norm = before;
  }
  b.end_layers("model.decoder.");
  b.embedding("embed_tokens", 0, narrow);
  b.add(Role::position_embedding, "embed_positions.weight",
        {fields.extent_or({"max_position_embeddings"}, 2048) + 2, h});
  if (narrow != h) {
    b.linear(Role::other, "project_in", h, narrow);
    b.linear(Role::other, "project_out", narrow, h);
  }
  if (before && !fields.flag({"_remove_final_layer_norm"}, false)) b.norm("final_layer_norm");
  b.head("lm_head", false, narrow);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"opt"};
constexpr std::string_view kClasses[] = {"OPTForCausalLM"};

}  // namespace

const ArchRule& arch_opt() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
