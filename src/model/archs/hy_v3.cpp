// Hy3: experts with a shared one behind a sigmoid router, head norms, a layer for multi-token
// prediction that shares embedding and head with the trunk.
// Source: vllm model_executor/models/hy_v3.py, hy_v3_mtp.py; transformers models/hy_v3;
// ggml-org/llama.cpp src/models/hy-v3.cpp.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/llama_like.h"
#include "model/plain_attention.h"

namespace vramwise::model {
namespace {

constexpr MoeNames kNames = {
    .router = "mlp.router.gate", .correction = "mlp.expert_bias", .shared = "mlp.shared_mlp."};

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 262144, .gguf = "hy_v3"});
  MoeFeedForward moe;
  moe.experts = fields.experts_or({"num_experts", "num_local_experts"}, 192);
  moe.active = fields.experts_or({"num_experts_per_tok"}, 8);
  moe.width = fields.extent_or({"expert_hidden_dim", "moe_intermediate_size"}, 1536);
  moe.shared_width = moe.width * fields.experts_or({"num_shared_experts"}, 1);
  moe.correction_bias = true;
  moe.gating = RouterGating::sigmoid;
  moe.normalise_weights = fields.flag({"route_norm"}, true);
  moe.scale_weights = fields.real({"router_scaling_factor"}, 1, 0, 1e6) != 1;
  const int64_t dense = fields.number({"first_k_dense_replace"}, 1, 0, kMaxLayers);
  LlamaLike options;
  options.heads = {.kv_heads = 8, .head_dim = 128};
  options.qk_norm = fields.flag({"qk_norm"}, true) ? QkNorm::per_head : QkNorm::none;
  options.feed_forward = [&](int64_t i) {
    if (i < dense) return false;
    b.moe(moe, kNames);
    return true;
  };
  const Heads heads = add_llama_like(b, options);
  const int64_t mtp = fields.number({"num_nextn_predict_layers"}, 0, 0, 100);
  for (int64_t i = 0; i < mtp && !b.failed(); ++i) {
    b.begin_mtp_layer("model.layers." + format_integer(int64_t(b.model().layers.size()) + i) + ".");
    AttentionBlock block = plain_attention(heads);
    block.qk_norm = options.qk_norm;
    b.attention(block);
    b.moe(moe, kNames);
    b.pre_norms("input_layernorm", "post_attention_layernorm");
    for (const std::string_view name : {"enorm", "hnorm", "final_layernorm"}) b.norm(name);
    b.linear(Role::mtp_projection, "eh_proj", b.hidden(), 2 * b.hidden());
  }
  return b.finish();
}

constexpr std::string_view kTypes[] = {"hy_v3"};
constexpr std::string_view kClasses[] = {"HYV3ForCausalLM"};

}  // namespace

const ArchRule& arch_hy_v3() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
