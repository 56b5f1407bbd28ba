// Nemotron and Minitron: LayerNorm with one added to its weight, up and down with squared ReLU.
// Source: transformers models/nemotron/modeling_nemotron.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 4096, .gguf = "nemotron"});
  LlamaLike options;
  options.qkv_bias = options.output_bias = fields.flag({"attention_bias"}, false);
  options.mlp_bias = fields.flag({"mlp_bias"}, false);
  options.norm_kind = NormKind::layer_norm_bias;
  options.gated = false;
  options.rotary_share = 0.5;
  add_llama_like(b, options);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"nemotron"};
constexpr std::string_view kClasses[] = {"NemotronForCausalLM"};

}  // namespace

const ArchRule& arch_nemotron() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
