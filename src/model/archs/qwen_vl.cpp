// Qwen2-VL, Qwen2.5-VL and Qwen3-VL, dense and with experts. The v4 configs of the first two keep
// the text model's keys at the top. Source: transformers models/qwen2_vl, qwen2_5_vl, qwen3_vl,
// qwen3_vl_moe.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/qwen_parts.h"
#include "model/towers/qwen_vision.h"

namespace vramwise::model {
namespace {

Result<Model> build_v2(const Fields& top, bool v2_5) {
  const Fields text = top.text();
  const auto vision = top.section({"vision_config"});
  Builder b(top, text, {.positions = 32768, .gguf = "qwen2vl"});
  LlamaLike options;
  options.qkv_bias = true;
  options.attention = qwen_windows(b);
  add_llama_like(b, options);
  if (vision && v2_5) add_qwen2_5_vision(b, *vision);
  if (vision && !v2_5) add_qwen2_vision(b, *vision);
  return b.finish();
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const std::string type = top.text_or({"model_type"}, "");
  if (starts_with(type, "qwen2")) return build_v2(top, starts_with(type, "qwen2_5"));
  const Fields text = top.text();
  const auto vision = top.section({"vision_config"});
  const bool experts = text.experts_or({"num_experts"}, 0) > 0;
  Builder b(top, text, {.positions = 128000, .gguf = experts ? "qwen3vlmoe" : "qwen3vl"});
  const std::vector<bool> sparse = qwen_sparse_layers(text, text.layers());
  LlamaLike options;
  options.heads.head_dim = 128;
  if (experts) options.heads.kv_heads = 4;
  options.qk_norm = QkNorm::per_head;
  options.qkv_bias = options.output_bias = text.flag({"attention_bias"}, false);
  options.stem = "model.language_model.";
  options.feed_forward = [&](int64_t i) {
    if (!sparse[size_t(i)]) return false;
    b.moe(qwen_experts(text, false));
    return true;
  };
  options.rope_table = false;
  const Heads heads = add_llama_like(b, options);
  RopeScaling rope = read_rope_scaling(text);
  // The class has an mrope_section of its own where the config leaves it out.
  if (!text.has({"rope_parameters"}) && !text.has({"rope_scaling"})) rope.multimodal = true;
  add_rope_table(text, b.model(), heads.dim, rope);
  if (vision) add_qwen3_vision(b, *vision);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"qwen2_vl",        "qwen2_vl_text",    "qwen2_5_vl",
                                       "qwen2_5_vl_text", "qwen3_vl",         "qwen3_vl_text",
                                       "qwen3_vl_moe",    "qwen3_vl_moe_text"};
constexpr std::string_view kClasses[] = {
    "Qwen2VLForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration",
    "Qwen3VLForConditionalGeneration", "Qwen3VLMoeForConditionalGeneration"};

}  // namespace

const ArchRule& arch_qwen_vl() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
