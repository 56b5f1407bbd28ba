// Qwen 3 dense. Source: transformers models/qwen3/modeling_qwen3.py.
#include "model/arch_rule.h"
#include "model/qwen_parts.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 32768, .gguf = "qwen3"});
  LlamaLike options;
  options.heads.head_dim = 128;
  options.qk_norm = QkNorm::per_head;
  options.qkv_bias = options.output_bias = fields.flag({"attention_bias"}, false);
  options.attention = qwen_windows(b);
  add_llama_like(b, options);
  b.model().gguf.ignores_window = true;
  return b.finish();
}

constexpr std::string_view kTypes[] = {"qwen3"};
constexpr std::string_view kClasses[] = {"Qwen3ForCausalLM"};

}  // namespace

const ArchRule& arch_qwen3() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
