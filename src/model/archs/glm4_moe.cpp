// GLM-4.5, 4.6, 4.7 and GLM-4.5V; dots.llm1, which has the same experts and no head switch.
// Source: transformers models/glm4_moe, models/glm4v_moe, models/dots1.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/llama_like.h"
#include "model/plain_attention.h"
#include "model/towers/glm4v.h"

namespace vramwise::model {
namespace {

MoeFeedForward read_experts(const Fields& text) {
  MoeFeedForward moe;
  moe.experts = text.required({"n_routed_experts"}, 1, kMaxExperts);
  moe.active = text.required({"num_experts_per_tok"}, 1, kMaxExperts);
  moe.width = text.extent({"moe_intermediate_size"});
  moe.shared_width = moe.width * text.experts_or({"n_shared_experts"}, 0);
  moe.correction_bias = true;
  moe.gating = RouterGating::sigmoid;
  moe.normalise_weights = text.flag({"norm_topk_prob"}, true);
  moe.scale_weights = text.real({"routed_scaling_factor"}, 1, 0, 1e6) != 1;
  moe.expert_groups = text.small_or({"n_group"}, 0);
  return moe;
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const Fields text = top.text();
  const auto vision = top.section({"vision_config"});
  const bool dots = top.text_or({"model_type"}, "glm4_moe") == "dots1";
  Builder b(top, text, {.positions = dots ? 2048 : 131072, .gguf = dots ? "dots1" : "glm4moe"});
  const MoeFeedForward moe = read_experts(text);
  const int64_t dense = text.number({"first_k_dense_replace"}, dots ? 0 : 1, 0, kMaxLayers);
  LlamaLike options;
  if (!dots) options.heads = {.kv_heads = 8, .head_dim = 128};
  options.qkv_bias = text.flag({"attention_bias"}, false);
  options.output_bias = dots && options.qkv_bias;
  options.qk_norm = dots || text.flag({"use_qk_norm"}, false) ? QkNorm::per_head : QkNorm::none;
  options.rotary_share = dots ? 1 : 0.5;
  if (vision) options.stem = "model.language_model.";
  options.feed_forward = [&](int64_t i) {
    if (i < dense) return false;
    b.moe(moe);
    return true;
  };
  const Heads heads = add_llama_like(b, options);
  // The vision model is published without its multi-token-prediction layer.
  const int64_t mtp = vision || dots ? 0 : text.number({"num_nextn_predict_layers"}, 0, 0, 100);
  for (int64_t i = 0; i < mtp && !b.failed(); ++i) {
    b.begin_mtp_layer("model.layers." + format_integer(int64_t(b.model().layers.size()) + i) + ".");
    AttentionBlock block = plain_attention(heads);
    block.qkv_bias = options.qkv_bias;
    block.qk_norm = options.qk_norm;
    b.attention(block);
    b.moe(moe);
    b.pre_norms("input_layernorm", "post_attention_layernorm");
    b.mtp_wrapper(true);
  }
  if (vision) add_glm4v(b, *vision);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"glm4_moe", "glm4v_moe", "dots1"};
constexpr std::string_view kClasses[] = {"Glm4MoeForCausalLM", "Glm4vMoeForConditionalGeneration",
                                         "Dots1ForCausalLM"};

}  // namespace

const ArchRule& arch_glm4_moe() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
