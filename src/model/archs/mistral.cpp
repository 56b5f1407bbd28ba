// Mistral 7B, Nemo, Small, Large, Ministral and Devstral; Mistral 3.x with its Pixtral tower.
// Source: transformers models/mistral, models/ministral3, models/mistral3.
#include "model/arch_rule.h"
#include "model/llama_like.h"
#include "model/towers/pixtral.h"

namespace vramwise::model {
namespace {

void add_text(Builder& b, bool ministral3, std::string stem, std::string head) {
  LlamaLike options;
  options.heads.kv_heads = 8;
  if (ministral3) options.heads.head_dim = 128;
  options.stem = std::move(stem);
  options.head = std::move(head);
  // The mistral class slides over 4096 tokens unless its config says otherwise; ministral3 reads all.
  const int64_t window = uniform_window(b, ministral3 ? 0 : 4096);
  options.attention = [window](int64_t, AttentionBlock& block) { block.window = window; };
  add_llama_like(b, options);
  b.model().gguf.ignores_window = true;
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const Fields text = top.text();
  const auto vision = top.section({"vision_config"});
  const std::string type = text.text_or({"model_type"}, top.text_or({"model_type"}, ""));
  const bool ministral3 = type == "ministral3";
  Builder b(top, text, {.positions = ministral3 ? 262144 : 131072,
                        .gguf = ministral3 ? "mistral3" : "llama"});
  if (vision) {
    add_text(b, ministral3, "language_model.model.", "language_model.lm_head");
    add_pixtral(b, top, *vision);
  } else {
    add_text(b, ministral3, "model.", "lm_head");
  }
  return b.finish();
}

constexpr std::string_view kTypes[] = {"mistral", "ministral", "ministral3", "mistral3"};
constexpr std::string_view kClasses[] = {"MistralForCausalLM", "Mistral3ForConditionalGeneration"};

}  // namespace

const ArchRule& arch_mistral() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
