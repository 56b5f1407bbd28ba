// Ovis: a tower whose patches become weights over a vocabulary of visual words, each with an
// embedding. 1.6 has SigLIP, 2 has AIMv2, 2.5 and 2.6 have SigLIP 2.
// Source: vllm model_executor/models/ovis.py, ovis2_5.py, siglip2_navit.py.
#include <algorithm>

#include "model/arch_rule.h"
#include "model/towers/aimv2.h"
#include "model/towers/siglip.h"
#include "model/towers/tower.h"
#include "model/wrapped.h"

namespace vramwise::model {
namespace {

// `marks` words say where an image begins and ends: no patch becomes one of them.
void add_words(Builder& b, int64_t h, int64_t stride, int64_t words, int64_t marks) {
  const int64_t head = std::max<int64_t>(1, words - marks);
  begin_projector(b, "visual_tokenizer.");
  projector_linear(b, "head.0", head, h * stride * stride, false);
  b.biased_norm("head.1", head, Role::projector);
  begin_projector(b, "");
  b.add(Role::projector, "vte.weight", {words, b.hidden()});
}

void add_tokenizer(Builder& b, const Fields& top) {
  const Fields tokenizer = section_of(top, "visual_tokenizer_config");
  const Fields backbone = section_of(tokenizer, "backbone_config");
  const bool siglip = backbone.text_or({"model_type"}, "aimv2") == "siglip_vision_model";
  const int64_t h =
      siglip
          ? add_siglip(b, siglip_fields(backbone),
                       {.scope = "visual_tokenizer.backbone.vision_model.", .class_has_head = true})
          : add_aimv2(b, backbone, "visual_tokenizer.backbone.");
  add_words(b, h, tokenizer.number({"hidden_stride"}, 1, 1, 64),
            tokenizer.extent_or({"vocab_size"}, 16384), 5);
}

void add_visual_words(Builder& b, const Fields& top) {
  const Fields vision = section_of(top, top.has({"vit_config"}) ? "vit_config" : "vision_config")
                            .with_defaults({{"hidden_size", 1152},
                                            {"intermediate_size", 4304},
                                            {"num_hidden_layers", 27},
                                            {"num_patches", 1024},
                                            {"patch_size", 16}});
  const int64_t h = add_siglip(
      b, vision, {.scope = "visual_tokenizer.vit.vision_model.", .flattened_patches = true});
  const int64_t stride = vision.number({"hidden_stride"}, 2, 1, 64);
  const int64_t words = top.extent_or({"visual_vocab_size"}, 65536);
  add_words(b, h, stride, words, 4);
}

constexpr Wrapped kFamily{.type = "ovis2_5",
                          .language = "qwen3",
                          .stem = "llm.model.",
                          .head = "llm.",
                          .towers = add_visual_words};

constexpr Wrapped kFirst{.type = "ovis",
                         .language = "qwen2",
                         .stem = "llm.model.",
                         .head = "llm.",
                         .towers = add_tokenizer};

Result<Model> build(const json::Reader& config) {
  const bool first = Fields(config).section({"visual_tokenizer_config"}).has_value();
  return build_wrapped(config, first ? kFirst : kFamily);
}

constexpr std::string_view kTypes[] = {"ovis", "ovis2_5", "ovis2_6", "ovis2_6_moe"};
constexpr std::string_view kClasses[] = {"Ovis", "Ovis2_5", "Ovis2_5ForConditionalGeneration",
                                         "Ovis2_6ForCausalLM", "Ovis2_6_MoeForCausalLM"};

}  // namespace

const ArchRule& arch_ovis() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
