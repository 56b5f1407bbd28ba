// Small models that read documents: LightOnOCR (Pixtral's tower), PaddleOCR-VL and HunyuanOCR
// (SigLIP with their own mergers). Source: transformers models/lighton_ocr, models/paddleocr_vl,
// models/hunyuan_vl.
#include "model/arch_rule.h"
#include "model/towers/pixtral.h"
#include "model/towers/siglip.h"
#include "model/towers/tower.h"
#include "model/wrapped.h"

namespace vramwise::model {
namespace {

void add_lighton(Builder& b, const Fields& top) {
  const Fields vision = section_of(top, "vision_config");
  const int64_t h = add_pixtral_tower(b, vision, "model.vision_encoder.");
  add_pixtral_projector(b, top, h, "model.vision_projection.");
}

void add_paddle(Builder& b, const Fields& top) {
  const Fields vision = section_of(top, "vision_config")
                            .with_defaults({{"hidden_size", 1152},
                                            {"intermediate_size", 4304},
                                            {"num_hidden_layers", 27},
                                            {"image_size", 384},
                                            {"patch_size", 14}});
  const int64_t h = add_siglip(b, vision, {.scope = "visual.vision_model."});
  // In the file, and read by nothing: a table of packed positions and SigLIP's pooling.
  b.set_part(Part::stored_unused);
  b.add(Role::tower, "embeddings.packing_position_embedding.weight", {32768, h});
  add_siglip_head(b, h, vision.extent({"intermediate_size"}), Part::stored_unused);
  const int64_t merge = vision.number({"spatial_merge_size"}, 2, 1, 64);
  const int64_t merged = h * merge * merge;
  begin_projector(b, "mlp_AR.");
  b.biased_norm("pre_norm", h, Role::projector);
  projector_linear(b, "linear_1", merged, merged, true);
  projector_linear(b, "linear_2", b.hidden(), merged, true);
}

void add_hunyuan(Builder& b, const Fields& top) {
  const Fields vision = section_of(top, "vision_config")
                            .with_defaults({{"hidden_size", 1152},
                                            {"intermediate_size", 4304},
                                            {"num_hidden_layers", 27},
                                            {"patch_size", 16}});
  const int64_t h = vision.extent({"hidden_size"});
  const int64_t width = vision.extent({"intermediate_size"});
  const int64_t layers = vision.layers();
  const int64_t patch = vision.small({"patch_size"});
  const int64_t side = vision.divisor_or({"max_image_size"}, 2048) / patch;
  const int64_t merge = vision.number({"spatial_merge_size"}, 2, 1, 64);
  begin_tower(b, "vit.");
  b.add(Role::tower, "embeddings.patch_embedding.weight", {h, 3, patch, patch});
  b.add(Role::tower, "embeddings.patch_embedding.bias", {h});
  b.add(Role::tower, "embeddings.position_embedding.weight", {side * side + 1, h});
  add_clip_layers(
      b, {.list = "layers.", .layers = layers, .hidden = h, .width = width, .output = "o_proj"});
  describe_tower(b, h, width, layers);
  begin_projector(b, "vit.perceive.");
  b.weight_norm("before_rms", h, Role::projector);
  b.add(Role::projector, "proj.0.weight", {2 * h, h, merge, merge});
  b.add(Role::projector, "proj.0.bias", {2 * h});
  b.add(Role::projector, "proj.2.weight", {4 * h, 2 * h, 1, 1});
  b.add(Role::projector, "proj.2.bias", {4 * h});
  projector_linear(b, "mlp", b.hidden(), 4 * h, true);
  b.add(Role::projector, "image_newline", {4 * h});
  for (const std::string_view name : {"image_begin", "image_end", "image_sep"}) {
    b.add(Role::projector, name, {b.hidden()});
  }
  b.weight_norm("after_rms", b.hidden(), Role::projector);
}

constexpr Wrapped kFamilies[] = {
    {.type = "lighton_ocr",
     .language = "qwen3",
     .stem = "model.language_model.",
     .head = "",
     .tied = true,
     .towers = add_lighton},
    {.type = "paddleocr_vl",
     .language = "ernie4_5",
     .stem = "model.",
     .head = "",
     .towers = add_paddle},
    {.type = "hunyuan_vl",
     .language = "hunyuan_vl_text",
     .stem = "model.",
     .head = "",
     .tied = true,
     .towers = add_hunyuan},
};

Result<Model> build(const json::Reader& config) {
  return build_wrapped(config, wrapped_row(kFamilies, config));
}

constexpr std::string_view kTypes[] = {"lighton_ocr", "paddleocr_vl", "hunyuan_vl"};
constexpr std::string_view kClasses[] = {
    "LightOnOcrForConditionalGeneration", "LightOnOCRForConditionalGeneration",
    "PaddleOCRVLForConditionalGeneration", "HunYuanVLForConditionalGeneration"};

}  // namespace

const ArchRule& arch_ocr() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
