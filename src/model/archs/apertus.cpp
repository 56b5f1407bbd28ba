// Apertus: up and down only, with an activation that has two trained scalars a layer.
// Source: transformers models/apertus/modeling_apertus.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 65536, .gguf = "apertus"});
  LlamaLike options;
  options.qk_norm = QkNorm::per_head;
  options.qkv_bias = options.output_bias = fields.flag({"attention_bias"}, false);
  options.attention_norm = "attention_layernorm";
  options.ffn_norm = "feedforward_layernorm";
  const int64_t width = fields.extent({"intermediate_size"});
  const bool bias = fields.flag({"mlp_bias"}, false);
  options.feed_forward = [&](int64_t) {
    b.plain_mlp(width, "mlp.up_proj", "mlp.down_proj", bias);
    b.add(Role::residual_scale, "mlp.act_fn.alpha_p", {1});
    b.add(Role::residual_scale, "mlp.act_fn.alpha_n", {1});
    b.buffer(Role::residual_scale, "mlp.act_fn.beta", {1});
    b.buffer(Role::residual_scale, "mlp.act_fn.eps", {1});
    return true;
  };
  add_llama_like(b, options);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"apertus"};
constexpr std::string_view kClasses[] = {"ApertusForCausalLM"};

}  // namespace

const ArchRule& arch_apertus() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
