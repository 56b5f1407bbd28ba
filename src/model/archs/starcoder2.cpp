// StarCoder 2: biases everywhere, LayerNorm, an MLP of two matrices.
// Source: transformers models/starcoder2/modeling_starcoder2.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.tied = true, .positions = 4096, .gguf = "starcoder2"});
  const int64_t window = uniform_window(b, 0);
  LlamaLike options;
  options.heads.kv_heads = 2;
  options.qkv_bias = options.output_bias = options.mlp_bias = fields.flag({"use_bias"}, true);
  options.norm_kind = NormKind::layer_norm_bias;
  options.gated = false;
  options.mlp_names = {.up = "c_fc", .down = "c_proj"};
  options.attention = [window](int64_t, AttentionBlock& block) { block.window = window; };
  add_llama_like(b, options);
  b.model().gguf.ignores_window = true;
  return b.finish();
}

constexpr std::string_view kTypes[] = {"starcoder2"};
constexpr std::string_view kClasses[] = {"Starcoder2ForCausalLM"};

}  // namespace

const ArchRule& arch_starcoder2() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
