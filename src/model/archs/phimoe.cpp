// Phi-3.5-MoE. Source: transformers models/phimoe/modeling_phimoe.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 131072, .gguf = "phimoe"});
  MoeFeedForward moe;
  moe.experts = fields.experts_or({"num_local_experts"}, 16);
  moe.active = fields.experts_or({"num_experts_per_tok"}, 2);
  moe.width = fields.extent({"intermediate_size"});
  const int64_t window = uniform_window(b, 0);
  LlamaLike options;
  options.heads.kv_heads = 8;
  options.qkv_bias = options.output_bias = fields.flag({"attention_bias"}, false);
  options.norm_kind = NormKind::layer_norm_bias;
  options.head_bias = fields.flag({"lm_head_bias"}, false);
  options.attention = [window](int64_t, AttentionBlock& block) {
    block.window = window;
    block.query_scaled = true;
  };
  options.feed_forward = [&](int64_t) {
    b.moe(moe, {.router = "block_sparse_moe.gate",
                .experts = "block_sparse_moe.experts.{e}.",
                .gate = "w1",
                .up = "w3",
                .down = "w2"});
    return true;
  };
  add_llama_like(b, options);
  b.model().gguf.ignores_window = true;
  return b.finish();
}

constexpr std::string_view kTypes[] = {"phimoe"};
constexpr std::string_view kClasses[] = {"PhimoeForCausalLM", "PhiMoEForCausalLM"};

}  // namespace

const ArchRule& arch_phimoe() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
