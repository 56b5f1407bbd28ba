// Mistral 7B, Nemo, Small, Large, Ministral and Devstral; Mistral 3.x with its Pixtral tower.
// Source: transformers models/mistral, models/ministral3, models/mistral3.
#include "model/arch_rule.h"
#include "model/latent_parts.h"
#include "model/llama_like.h"
#include "model/towers/pixtral.h"

namespace vramwise::model {
namespace {

void add_text(Builder& b, bool ministral3, bool scaled, std::string stem, std::string head) {
  LlamaLike options;
  options.heads.kv_heads = 8;
  if (ministral3) options.heads.head_dim = 128;
  options.stem = std::move(stem);
  options.head = std::move(head);
  // The mistral class slides over 4096 tokens unless its config says otherwise; ministral3 reads
  // all.
  const int64_t window = uniform_window(b, ministral3 ? 0 : 4096);
  options.attention = [=](int64_t, AttentionBlock& block) {
    block.window = window;
    block.scaled_by_position = scaled;
  };
  add_llama_like(b, options);
  b.model().gguf.ignores_window = true;
}

// Mistral Small 4 and Large 3 have latent attention and experts, as DeepSeek V3 has.
// Source: mistralai/Mistral-Small-4-119B-2603; their tensors met no published total.
Result<Model> build_latent(const Fields& top, const Fields& text,
                           const std::optional<Fields>& vision) {
  Builder b(top, text, {.positions = 262144, .gguf = "mistral4"});
  DeepseekLike options;
  options.prefix = vision ? "language_model." : "";
  options.correction_bias = text.text_or({"scoring_func"}, "") == "sigmoid";
  add_deepseek_like(b, options);
  if (vision) add_pixtral(b, top, *vision);
  text.notes().warn("tensors_unverified",
                    "the tensors of this Mistral generation met no published total: weights may be "
                    "off slightly");
  return b.finish();
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const Fields text = top.text();
  const auto vision = top.section({"vision_config"});
  const std::string type = text.text_or({"model_type"}, top.text_or({"model_type"}, ""));
  if (text.has({"kv_lora_rank"})) return build_latent(top, text, vision);
  const bool ministral3 = type == "ministral3";
  Builder b(top, text,
            {.positions = ministral3 ? 262144 : 131072, .gguf = ministral3 ? "mistral3" : "llama"});
  const auto rope = text.section({"rope_parameters"});
  const bool scaled = rope && rope->real({"llama_4_scaling_beta"}, 0, 0, 1e6) > 0;
  if (vision) {
    add_text(b, ministral3, scaled, "language_model.model.", "language_model.lm_head");
    add_pixtral(b, top, *vision);
  } else {
    add_text(b, ministral3, scaled, "model.", "lm_head");
  }
  return b.finish();
}

constexpr std::string_view kTypes[] = {"mistral",  "ministral", "ministral3",
                                       "mistral3", "mistral4",  "mistral_large_3"};
constexpr std::string_view kClasses[] = {"MistralForCausalLM", "Mistral3ForConditionalGeneration"};

}  // namespace

const ArchRule& arch_mistral() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
