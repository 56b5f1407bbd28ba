// Arcee AFM: a Llama whose MLP has up and down only (squared ReLU).
// Source: transformers models/arcee/modeling_arcee.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 4096, .gguf = "arcee"});
  LlamaLike options;
  options.qkv_bias = options.output_bias = fields.flag({"attention_bias"}, false);
  options.mlp_bias = fields.flag({"mlp_bias"}, false);
  options.gated = false;
  add_llama_like(b, options);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"arcee"};
constexpr std::string_view kClasses[] = {"ArceeForCausalLM"};

}  // namespace

const ArchRule& arch_arcee() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
