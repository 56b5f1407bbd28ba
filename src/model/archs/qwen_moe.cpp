// Qwen 1.5/2 MoE (with a gated shared expert) and Qwen 3 MoE (without).
// Source: transformers models/qwen2_moe, models/qwen3_moe.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/qwen_parts.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  const bool v3 = starts_with(fields.text_or({"model_type"}, "qwen3_moe"), "qwen3");
  Builder b(fields, fields, {.positions = 32768, .gguf = v3 ? "qwen3moe" : "qwen2moe"});
  const std::vector<bool> sparse = qwen_sparse_layers(fields, fields.layers());
  LlamaLike options;
  if (v3) {
    options.heads.kv_heads = 4;
    options.qk_norm = QkNorm::per_head;
    options.qkv_bias = options.output_bias = fields.flag({"attention_bias"}, false);
  } else {
    options.qkv_bias = fields.flag({"qkv_bias"}, true);
  }
  options.attention = qwen_windows(b);
  options.feed_forward = [&](int64_t i) {
    if (!sparse[size_t(i)]) return false;
    b.moe(qwen_experts(fields, !v3), {.shared = "mlp.shared_expert."});
    return true;
  };
  add_llama_like(b, options);
  b.model().gguf.ignores_window = true;
  return b.finish();
}

constexpr std::string_view kTypes[] = {"qwen2_moe", "qwen3_moe", "qwen3_omni_moe_text"};
constexpr std::string_view kClasses[] = {"Qwen3MoeForCausalLM", "Qwen2MoeForCausalLM"};

}  // namespace

const ArchRule& arch_qwen_moe() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
