// Qwen 1.5, 2, 2.5 and QwQ; MiMo-7B, which is Qwen 2 with multi-token-prediction layers; Qwen v1.
// Source: transformers models/qwen2/modeling_qwen2.py; XiaomiMiMo/MiMo-7B-Base modeling_mimo.py;
// Qwen/Qwen-7B modeling_qwen.py.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/plain_attention.h"
#include "model/qwen_parts.h"

namespace vramwise::model {
namespace {

Result<Model> build_qwen2(const json::Reader& config, bool mimo) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 32768, .gguf = mimo ? "" : "qwen2"});
  LlamaLike options;
  options.qkv_bias = true;
  options.attention = qwen_windows(b);
  const Heads heads = add_llama_like(b, options);
  b.model().gguf.ignores_window = true;
  const int64_t mtp = mimo ? fields.number({"num_nextn_predict_layers"}, 0, 0, 100) : 0;
  for (int64_t i = 0; i < mtp; ++i) {
    b.begin_mtp_layer("model.mtp_layers." + format_integer(i) + ".");
    AttentionBlock block = plain_attention(heads);
    block.qkv_bias = true;
    b.attention(block);
    b.gated_mlp(fields.extent({"intermediate_size"}));
    b.pre_norms("input_layernorm", "post_attention_layernorm");
    for (const std::string_view name : {"token_layernorm", "hidden_layernorm", "final_layernorm"}) {
      b.norm(name);
    }
    b.linear(Role::mtp_projection, "input_proj", b.hidden(), 2 * b.hidden());
  }
  return b.finish();
}

// The first Qwen: one matrix for q, k and v, and an MLP whose config counts gate and up together.
Result<Model> build_qwen1(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 8192, .gguf = "qwen"});
  const Heads heads = read_heads(fields);
  const int64_t width = fields.extent({"intermediate_size"}) / 2;
  const int64_t layers = fields.layers();
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("transformer.h.", i);
    AttentionBlock block;
    block.query_heads = block.kv_heads = heads.query;
    block.key_dim = block.value_dim = heads.dim;
    block.fused_qkv = true;
    block.qkv_bias = true;
    block.output_bias = !fields.flag({"no_bias"}, true);
    b.attention(block, {.scope = "attn.", .o = "c_proj", .fused = "c_attn"});
    b.gated_mlp(width, false, {.gate = "w2", .up = "w1", .down = "c_proj"});
    b.pre_norms("ln_1", "ln_2");
  }
  b.end_layers("transformer.");
  b.embedding("wte");
  b.norm("ln_f");
  b.head();
  add_rope_table(fields, b.model(), heads.dim);
  return b.finish();
}

Result<Model> build(const json::Reader& config) {
  const std::string type = Fields(config).text_or({"model_type"}, "qwen2");
  return type == "qwen" ? build_qwen1(config) : build_qwen2(config, type == "mimo");
}

constexpr std::string_view kTypes[] = {"qwen2", "mimo", "qwen", "qwen2_5_omni_text"};
constexpr std::string_view kClasses[] = {"Qwen2ForCausalLM"};

}  // namespace

const ArchRule& arch_qwen2() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
