// DeepSeek V2, V3, R1 and V3.2, and what follows their modules: Kimi K2, K2.5 and Kimi-VL (with
// MoonViT), GLM-4.7-Flash, GLM-5, Sarvam 105B; DeepSeek-MoE 16B, which still has keys and values
// per head, and DeepSeek-OCR on top of it. Source: transformers models/deepseek_v2,
// models/deepseek_v3, models/glm_moe_dsa, models/glm4_moe_lite; vllm
// model_executor/models/sarvam.py; deepseek-ai/deepseek-moe-16b-base modeling_deepseek.py.
#include "model/arch_rule.h"
#include "model/latent_parts.h"
#include "model/llama_like.h"
#include "model/towers/deep_encoder.h"
#include "model/towers/moonvit.h"

namespace vramwise::model {
namespace {

struct Variant {
  std::string_view type;
  std::string_view gguf;
  DeepseekLike options;
};

const Variant& variant_of(std::string_view type) {
  static const Variant kVariants[] = {
      {"deepseek_v3", "deepseek2", {.dense_layers = 3}},
      {"deepseek_v2", "deepseek2", {.correction_bias = false}},
      {"deepseek_v32", "deepseek32", {.sparse_attention = true, .dense_layers = 3}},
      {"glm_moe_dsa",
       "glm-dsa",
       {.sparse_attention = true, .mtp_copies = false, .dense_layers = 3}},
      {"glm4_moe_lite", "deepseek2", {.dense_layers = 1}},
      {"kimi_k2", "deepseek2", {.dense_layers = 1}},
      {"sarvam_mla", "", {.dense_layers = 1}},
  };
  for (const Variant& variant : kVariants) {
    if (variant.type == type) return variant;
  }
  return kVariants[0];
}

// DeepSeek-MoE: attention per head, a softmax router, shared experts.
Result<Model> build_v1(const json::Reader& config) {
  const Fields top(config);
  const Fields fields = top.text();
  Builder b(top, fields, {.positions = 4096, .gguf = "deepseek"});
  const int64_t dense = fields.number({"first_k_dense_replace"}, 0, 0, kMaxLayers);
  const int64_t every = fields.divisor_or({"moe_layer_freq"}, 1);
  MoeFeedForward moe;
  moe.experts = fields.required({"n_routed_experts"}, 1, kMaxExperts);
  moe.active = fields.required({"num_experts_per_tok"}, 1, kMaxExperts);
  moe.width = fields.extent({"moe_intermediate_size"});
  moe.shared_width = moe.width * fields.experts_or({"n_shared_experts"}, 0);
  moe.normalise_weights = fields.flag({"norm_topk_prob"}, false);
  LlamaLike options;
  options.feed_forward = [&](int64_t i) {
    if (i < dense || i % every != 0) return false;
    b.moe(moe);
    return true;
  };
  add_llama_like(b, options);
  if (const auto vision = top.section({"vision_config"})) add_deep_encoder(b, *vision);
  return b.finish();
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const Fields text = top.text();
  const std::string outer = top.text_or({"model_type"}, "deepseek_v3");
  if (outer == "deepseek") return build_v1(config);
  const auto vision = top.section({"vision_config"});
  const std::string type = text.text_or({"model_type"}, outer);
  const Variant& variant = variant_of(type);
  Builder b(top, text, {.positions = 4096, .gguf = variant.gguf});
  DeepseekLike options = variant.options;
  if (vision) options.prefix = "language_model.";
  add_deepseek_like(b, options);
  if (vision) add_moonvit(b, *vision);
  return b.finish();
}

constexpr std::string_view kTypes[] = {
    "deepseek",      "deepseek_v2", "deepseek_v3", "deepseek_v32", "glm_moe_dsa",
    "glm4_moe_lite", "kimi_k2",     "kimi_k25",    "kimi_vl",      "sarvam_mla"};
constexpr std::string_view kClasses[] = {"DeepseekV3ForCausalLM", "DeepseekV2ForCausalLM",
                                         "KimiK25ForConditionalGeneration", "SarvamMLAForCausalLM"};

}  // namespace

const ArchRule& arch_deepseek() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
