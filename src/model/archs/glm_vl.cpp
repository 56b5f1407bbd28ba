// GLM-4.1V-9B, GLM-4.6V-Flash and GLM-OCR: GLM-4's dense language model behind a tower of GLM's
// own. Source: transformers models/glm4v, models/glm_ocr.
#include "model/arch_rule.h"
#include "model/towers/glm4v.h"
#include "model/towers/glm5v.h"
#include "model/wrapped.h"

namespace vramwise::model {
namespace {

void add_vision(Builder& b, const Fields& top) {
  add_glm4v(b, section_of(top, "vision_config")
                   .with_defaults({{"depth", 24},
                                   {"hidden_size", 1536},
                                   {"out_hidden_size", 4096},
                                   {"intermediate_size", 13696},
                                   {"image_size", 336},
                                   {"patch_size", 14}}));
}

void add_ocr_vision(Builder& b, const Fields& top) {
  const Fields vision = section_of(top, "vision_config")
                            .with_defaults({{"depth", 24},
                                            {"hidden_size", 1024},
                                            {"out_hidden_size", 1536},
                                            {"intermediate_size", 4096},
                                            {"patch_size", 14}});
  add_glm5v(b, vision, 3 * vision.extent({"out_hidden_size"}));
}

constexpr Fields::Default kVisionText[] = {
    {"vocab_size", 151552},    {"hidden_size", 4096},       {"intermediate_size", 13696},
    {"num_hidden_layers", 40}, {"num_attention_heads", 32}, {"num_key_value_heads", 2}};
constexpr Fields::Default kOcrText[] = {{"vocab_size", 59392},       {"hidden_size", 1024},
                                        {"intermediate_size", 4096}, {"num_hidden_layers", 16},
                                        {"num_attention_heads", 16}, {"num_key_value_heads", 8}};

constexpr std::string_view kStem = "model.language_model.";
constexpr Wrapped kFamilies[] = {
    {.type = "glm4v",
     .language = "glm4v_text",
     .stem = kStem,
     .head = "",
     .tied = false,
     .defaults = kVisionText,
     .towers = add_vision},
    {.type = "glm_ocr",
     .language = "glm_ocr_text",
     .stem = kStem,
     .head = "",
     .tied = false,
     .defaults = kOcrText,
     .towers = add_ocr_vision},
};

Result<Model> build(const json::Reader& config) {
  return build_wrapped(config, wrapped_row(kFamilies, config));
}

constexpr std::string_view kTypes[] = {"glm4v", "glm_ocr"};
constexpr std::string_view kClasses[] = {"Glm4vForConditionalGeneration",
                                         "GlmOcrForConditionalGeneration"};

}  // namespace

const ArchRule& arch_glm_vl() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
