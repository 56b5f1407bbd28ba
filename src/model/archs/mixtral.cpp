// Mixtral 8x7B and 8x22B. Source: transformers models/mixtral/modeling_mixtral.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 131072, .gguf = "llama"});
  MoeFeedForward moe;
  moe.experts = fields.experts_or({"num_local_experts"}, 8);
  moe.active = fields.experts_or({"num_experts_per_tok"}, 2);
  moe.width = fields.extent({"intermediate_size"});
  moe.gating = RouterGating::softmax;
  const int64_t window = uniform_window(b, 0);
  LlamaLike options;
  options.heads.kv_heads = 8;
  options.attention = [window](int64_t, AttentionBlock& block) { block.window = window; };
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

constexpr std::string_view kTypes[] = {"mixtral"};
constexpr std::string_view kClasses[] = {"MixtralForCausalLM"};

}  // namespace

const ArchRule& arch_mixtral() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
