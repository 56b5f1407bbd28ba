// LLaVA 1.5 and 1.6 (with video too) and LLaVA-OneVision: CLIP, SigLIP or Pixtral, two matrices,
// and a language model of any family. Configs leave out what Llama 2 7B and CLIP ViT-L/14-336 have
// anyway. Source: transformers models/llava, models/llava_next, models/llava_onevision.
#include <algorithm>

#include "base/text.h"
#include "model/arch_rule.h"
#include "model/towers/clip.h"
#include "model/towers/pixtral.h"
#include "model/towers/siglip.h"
#include "model/towers/tower.h"
#include "model/wrapped.h"

namespace vramwise::model {
namespace {

constexpr Fields::Default kLlama7b[] = {{"hidden_size", 4096},
                                        {"intermediate_size", 11008},
                                        {"num_hidden_layers", 32},
                                        {"num_attention_heads", 32},
                                        {"vocab_size", 32000}};

int64_t add_tower(Builder& b, const Fields& vision) {
  const std::string type = vision.text_or({"model_type"}, "clip_vision_model");
  if (type == "pixtral") return add_pixtral_tower(b, vision, "vision_tower.");
  if (starts_with(type, "siglip")) {
    return add_siglip(b, siglip_fields(vision),
                      {.scope = "vision_tower.vision_model.", .class_has_head = true});
  }
  const Fields clip = vision.with_defaults({{"hidden_size", 1024},
                                            {"intermediate_size", 4096},
                                            {"num_hidden_layers", 24},
                                            {"image_size", 336},
                                            {"patch_size", 14}});
  return add_clip(b, clip, "vision_tower.vision_model.");
}

void add_llava(Builder& b, const Fields& top) {
  const Fields vision = section_of(top, "vision_config", Absent::empty);
  const std::string type = top.text_or({"model_type"}, "llava");
  const int64_t h = add_tower(b, vision);
  // One token a patch; LLaVA-NeXT cuts large images into tiles of its own choice.
  if (type == "llava" && vision.text_or({"model_type"}, "") != "pixtral") {
    const int64_t side =
        vision.small_or({"image_size"}, 336) / vision.divisor_or({"patch_size"}, 14);
    describe_items(b, side * side, 1);
  }
  // The features of several layers may be laid side by side.
  const auto layer = top.reader().find({"vision_feature_layer"});
  int64_t features = 1;
  if (layer && layer->value().is_array()) {
    features = std::max<int64_t>(1, int64_t(layer->value().as_array().size()));
  }
  const bool bias = top.flag({"multimodal_projector_bias"}, true);
  begin_projector(b, "multi_modal_projector.");
  projector_linear(b, "linear_1", b.hidden(), h * features, bias);
  projector_linear(b, "linear_2", b.hidden(), b.hidden(), bias);
  begin_projector(b, "");
  if (type != "llava") b.add(Role::projector, "image_newline", {b.hidden()});
}

constexpr Wrapped kFamilies[] = {
    {.type = "llava", .tied = false, .defaults = kLlama7b, .towers = add_llava},
    {.type = "llava_next", .tied = false, .defaults = kLlama7b, .towers = add_llava},
    {.type = "llava_next_video", .tied = false, .defaults = kLlama7b, .towers = add_llava},
    {.type = "llava_onevision", .language = "qwen2", .tied = false, .towers = add_llava},
};

Result<Model> build(const json::Reader& config) {
  return build_wrapped(config, wrapped_row(kFamilies, config));
}

constexpr std::string_view kTypes[] = {"llava", "llava_next", "llava_next_video",
                                       "llava_onevision"};
constexpr std::string_view kClasses[] = {
    "LlavaForConditionalGeneration", "LlavaNextForConditionalGeneration",
    "LlavaNextVideoForConditionalGeneration", "LlavaOnevisionForConditionalGeneration"};

}  // namespace

const ArchRule& arch_llava() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
