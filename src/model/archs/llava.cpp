// LLaVA 1.5 and 1.6: CLIP, two matrices, and a language model of any family. Its configs leave out
// what Llama 2 7B and CLIP ViT-L/14-336 have anyway. Source: transformers
// models/llava/modeling_llava.py.
#include "model/arch_rule.h"
#include "model/dispatch.h"
#include "model/towers/clip.h"
#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const auto inner = config.find({"text_config"});
  json::Value language = inner ? inner->value() : json::Value::object();
  constexpr std::pair<std::string_view, int64_t> kLlama7b[] = {{"hidden_size", 4096},
                                                               {"intermediate_size", 11008},
                                                               {"num_hidden_layers", 32},
                                                               {"num_attention_heads", 32},
                                                               {"vocab_size", 32000}};
  for (const auto& [key, value] : kLlama7b) {
    const json::Value* given = language.find(key);
    if (given == nullptr || given->is_null()) language.set(key, value);
  }
  if (language.find("model_type") == nullptr) language.set("model_type", "llama");
  language.set("tie_word_embeddings", false);
  const json::Reader text(language, config.where().source);
  TRY_ASSIGN(Model built, build_by_type(text));
  const Fields text_fields(text);
  Builder b(top, text_fields, {});
  b.adopt(std::move(built), "language_model.");
  const Fields vision = top.nested({"vision_config"})
                            .with_defaults({{"hidden_size", 1024},
                                            {"intermediate_size", 4096},
                                            {"num_hidden_layers", 24},
                                            {"image_size", 336},
                                            {"patch_size", 14}});
  const int64_t h = add_clip(b, vision, "vision_tower.vision_model.");
  // One token a patch; LLaVA-NeXT cuts large images into tiles of its own choice.
  if (top.text_or({"model_type"}, "llava") == "llava") {
    const int64_t side = vision.small({"image_size"}) / vision.small({"patch_size"});
    describe_items(b, side * side, 1);
  }
  begin_projector(b, "multi_modal_projector.");
  projector_linear(b, "linear_1", b.hidden(), h, true);
  projector_linear(b, "linear_2", b.hidden(), b.hidden(), true);
  if (top.failed()) return fail(*top.fault());
  return b.finish();
}

constexpr std::string_view kTypes[] = {"llava", "llava_next"};
constexpr std::string_view kClasses[] = {"LlavaForConditionalGeneration",
                                         "LlavaNextForConditionalGeneration"};

}  // namespace

const ArchRule& arch_llava() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
