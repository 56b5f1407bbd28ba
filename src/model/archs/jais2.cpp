// Jais 2: a Llama with biases everywhere, LayerNorms and an MLP of up and down (squared ReLU).
// Source: transformers models/jais2, vllm model_executor/models/jais2.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 8192, .gguf = "jais2"});
  LlamaLike options;
  options.qkv_bias = options.output_bias = fields.flag({"attention_bias"}, true);
  options.mlp_bias = fields.flag({"mlp_bias"}, true);
  options.gated = false;
  options.norm_kind = NormKind::layer_norm_bias;
  add_llama_like(b, options);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"jais2"};
constexpr std::string_view kClasses[] = {"Jais2ForCausalLM"};

}  // namespace

const ArchRule& arch_jais2() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
