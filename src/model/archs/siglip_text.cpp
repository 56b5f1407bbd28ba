// A SigLIP tower, a projector and a language model of any family: PaliGemma 1 and 2, Idefics 2 and
// 3, SmolVLM, Aya Vision, Command A Vision, Phi-4-reasoning-vision, Isaac. A row of the table a
// family. Source: transformers models/paligemma, idefics2, idefics3, smolvlm, aya_vision,
// cohere2_vision; vllm model_executor/models/phi4siglip.py, isaac.py.
#include <algorithm>

#include "model/arch_rule.h"
#include "model/towers/resampler.h"
#include "model/towers/siglip.h"
#include "model/towers/tower.h"
#include "model/wrapped.h"

namespace vramwise::model {
namespace {

void add_paligemma(Builder& b, const Fields& top) {
  const Fields vision = siglip_fields(section_of(top, "vision_config"));
  const int64_t h =
      add_siglip(b, vision, {.scope = "vision_tower.vision_model.", .class_has_head = true});
  begin_projector(b, "multi_modal_projector.");
  projector_linear(b, "linear", vision.extent_or({"projection_dim"}, b.hidden()), h, true);
}

void add_idefics2(Builder& b, const Fields& top) {
  const Fields vision = siglip_fields(section_of(top, "vision_config"));
  const int64_t h = add_siglip(b, vision, {.scope = "model.vision_model."});
  // As wide inside as the language model's MLP.
  const int64_t width = b.text().extent({"intermediate_size"});
  begin_projector(b, "model.connector.modality_projection.");
  projector_linear(b, "gate_proj", width, h, false);
  projector_linear(b, "up_proj", width, h, false);
  projector_linear(b, "down_proj", b.hidden(), width, false);
  begin_projector(b, "model.connector.perceiver_resampler.");
  add_idefics2_perceiver(b, top.nested({"perceiver_config"}));
}

void add_idefics3(Builder& b, const Fields& top) {
  const Fields vision = section_of(top, "vision_config")
                            .with_defaults({{"hidden_size", 1152},
                                            {"intermediate_size", 3072},
                                            {"num_hidden_layers", 12},
                                            {"image_size", 224},
                                            {"patch_size", 32}});
  const int64_t h = add_siglip(b, vision, {.scope = "model.vision_model."});
  const int64_t merge = top.number({"scale_factor"}, 2, 1, 64);
  begin_projector(b, "model.connector.modality_projection.");
  projector_linear(b, "proj", b.hidden(), h * merge * merge, false);
}

// Patches merged into one, and a gated matrix whose halves meet. `norm`: Aya's.
void add_cohere_projector(Builder& b, const Fields& top, int64_t class_width, bool norm) {
  const Fields vision = siglip_fields(section_of(top, "vision_config"));
  const int64_t h =
      add_siglip(b, vision, {.scope = "vision_tower.vision_model.", .class_has_head = true});
  const int64_t merge = top.number({"downsample_factor"}, 2, 1, 64);
  const int64_t merged = h * merge * merge;
  const int64_t width = top.extent_or({"alignment_intermediate_size"}, class_width);
  begin_projector(b, "multi_modal_projector.");
  if (norm) b.biased_norm("layernorm", merged, Role::projector);
  projector_linear(b, "linear_1", width, merged, true);
  projector_linear(b, "linear_2", b.hidden(), std::max<int64_t>(1, width / 2), true);
}
void add_aya(Builder& b, const Fields& top) { add_cohere_projector(b, top, b.hidden(), true); }
void add_command_a(Builder& b, const Fields& top) { add_cohere_projector(b, top, 36864, false); }

// The config says nothing of the tower's shape: SigLIP 2 so400m of 16-pixel patches.
void add_phi4_siglip(Builder& b, const Fields& top) {
  const Fields vision = section_of(top, "vision_config", Absent::empty)
                            .with_defaults({{"hidden_size", 1152},
                                            {"intermediate_size", 4304},
                                            {"num_hidden_layers", 27},
                                            {"num_patches", 256},
                                            {"patch_size", 16}});
  const int64_t h = add_siglip(b, vision,
                               {.scope = "model.vision_tower.vision_tower.vision_model.",
                                .flattened_patches = true,
                                .class_has_head = true});
  begin_projector(b, "model.mm_projector.");
  projector_linear(b, "0", b.hidden(), h, true);
  projector_linear(b, "2", b.hidden(), b.hidden(), true);
}

// SigLIP 2 whose patches are merged, and two matrices of four times the merged width.
void add_isaac(Builder& b, const Fields& top) {
  const Fields vision = section_of(top, "vision_config")
                            .with_defaults({{"hidden_size", 1152},
                                            {"intermediate_size", 4304},
                                            {"num_hidden_layers", 27},
                                            {"num_patches", 256},
                                            {"patch_size", 16}});
  const int64_t h =
      add_siglip(b, vision, {.scope = "vision_embedding.0.", .flattened_patches = true});
  const int64_t merge = vision.number({"pixel_shuffle_scale_factor"}, 2, 1, 64);
  const int64_t merged = h * merge * merge;
  begin_projector(b, "vision_embedding.");
  projector_linear(b, "1", 4 * merged, merged, false);
  projector_linear(b, "3", b.hidden(), 4 * merged, false);
}

constexpr std::string_view kInside = "model.text_model.";

constexpr Wrapped kFamilies[] = {
    {.type = "paligemma", .language = "gemma", .tied = true, .towers = add_paligemma},
    {.type = "idefics2",
     .language = "mistral",
     .stem = kInside,
     .head = "",
     .tied = false,
     .towers = add_idefics2},
    {.type = "idefics3", .stem = kInside, .head = "", .tied = false, .towers = add_idefics3},
    {.type = "smolvlm", .stem = kInside, .head = "", .tied = false, .towers = add_idefics3},
    {.type = "aya_vision", .language = "cohere2", .tied = true, .towers = add_aya},
    {.type = "isaac", .language = "qwen3", .stem = "model.", .head = "", .towers = add_isaac},
    {.type = "phi4-siglip",
     .language = "phi3",
     .stem = "model.",
     .head = "",
     .towers = add_phi4_siglip},
    {.type = "cohere2_vision", .language = "cohere2", .tied = true, .towers = add_command_a},
};

Result<Model> build(const json::Reader& config) {
  return build_wrapped(config, wrapped_row(kFamilies, config));
}

constexpr std::string_view kTypes[] = {"paligemma",  "idefics2",       "idefics3",    "smolvlm",
                                       "aya_vision", "cohere2_vision", "phi4-siglip", "isaac"};
constexpr std::string_view kClasses[] = {"PaliGemmaForConditionalGeneration",
                                         "Idefics2ForConditionalGeneration",
                                         "Idefics3ForConditionalGeneration",
                                         "SmolVLMForConditionalGeneration",
                                         "AyaVisionForConditionalGeneration",
                                         "Cohere2VisionForConditionalGeneration",
                                         "Phi4ForCausalLMV",
                                         "IsaacForConditionalGeneration"};

}  // namespace

const ArchRule& arch_siglip_text() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
