// InternLM 2 and 3 of the remote code: one matrix for q, k and v.
// Source: internlm/internlm2-chat-7b modeling_internlm2.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 2048, .gguf = "internlm2"});
  LlamaLike options;
  options.qkv_bias = options.output_bias = fields.flag({"bias"}, true);
  options.attention = [](int64_t, AttentionBlock& block) { block.fused_qkv = true; };
  options.attention_names = {.scope = "attention.", .o = "wo", .fused = "wqkv"};
  options.mlp_names = {.scope = "feed_forward.", .gate = "w1", .up = "w3", .down = "w2"};
  options.attention_norm = "attention_norm";
  options.ffn_norm = "ffn_norm";
  options.embedding = "tok_embeddings";
  options.head = "output";
  add_llama_like(b, options);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"internlm2"};
constexpr std::string_view kClasses[] = {"InternLM2ForCausalLM"};

}  // namespace

const ArchRule& arch_internlm2() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
