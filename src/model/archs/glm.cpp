// GLM-4-9B, GLM-4-32B-0414 and GLM-Z1 (two more norms, as inside GLM-4.1V and GLM-OCR), and
// ChatGLM 2 and 3 of the remote code. Source: transformers models/glm, models/glm4;
// THUDM/chatglm3-6b modeling_chatglm.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build_chatglm(const Fields& fields) {
  Builder b(fields, fields, {.positions = 8192, .gguf = "chatglm"});
  const bool grouped = fields.flag({"multi_query_attention"}, false);
  const int64_t heads = fields.small({"num_attention_heads"});
  const int64_t dim = fields.has({"kv_channels"})
                          ? fields.small({"kv_channels"})
                          : fields.divide(b.hidden(), "hidden_size", heads, "num_attention_heads");
  const int64_t kv = grouped ? fields.small({"multi_query_group_num"}) : heads;
  const int64_t width = fields.extent({"ffn_hidden_size"});
  const bool bias = fields.flag({"add_bias_linear"}, false);
  const bool qkv_bias = bias || fields.flag({"add_qkv_bias"}, false);
  const int64_t layers = fields.layers();
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("transformer.encoder.layers.", i);
    AttentionBlock block;
    block.query_heads = heads;
    block.kv_heads = kv;
    block.key_dim = block.value_dim = dim;
    block.fused_qkv = true;
    block.qkv_bias = qkv_bias;
    block.output_bias = bias;
    b.attention(block, {.scope = "self_attention.", .o = "dense", .fused = "query_key_value"});
    b.linear(Role::ffn_fused_gate_up, "mlp.dense_h_to_4h", 2 * width, b.hidden(), bias);
    b.linear(Role::ffn_down, "mlp.dense_4h_to_h", b.hidden(), width, bias);
    b.layer().feed_forward = DenseFeedForward{.width = width, .fused_gate_up = true, .bias = bias};
    b.pre_norms("input_layernorm", "post_attention_layernorm");
  }
  b.end_layers("transformer.");
  b.embedding("embedding.word_embeddings");
  b.buffer(Role::other, "rotary_pos_emb.inv_freq", {dim / 4});
  b.norm("encoder.final_layernorm");
  b.head("transformer.output_layer");
  add_rope_table(fields, b.model(), dim / 2);
  return b.finish();
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  const std::string type = fields.text_or({"model_type"}, "glm4");
  if (type == "chatglm") return build_chatglm(fields);
  const bool four_norms = type != "glm";
  Builder b(fields, fields, {.positions = 131072, .gguf = four_norms ? "glm4" : "chatglm"});
  LlamaLike options;
  options.heads = {.kv_heads = 2, .head_dim = 128};
  options.qkv_bias = fields.flag({"attention_bias"}, false);
  options.rotary_share = 0.5;
  options.feed_forward = [&](int64_t) {
    b.fused_mlp(fields.extent({"intermediate_size"}));
    if (four_norms) {
      b.layer().post_attention_norm = b.layer().post_ffn_norm = true;
      b.norm("post_self_attn_layernorm");
      b.norm("post_mlp_layernorm");
    }
    return true;
  };
  add_llama_like(b, options);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"glm", "glm4", "chatglm", "glm4v_text", "glm_ocr_text"};
constexpr std::string_view kClasses[] = {"GlmForCausalLM", "Glm4ForCausalLM", "ChatGLMModel",
                                         "ChatGLMForConditionalGeneration"};

}  // namespace

const ArchRule& arch_glm() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
