// Ovis 2.5 and 2.6: SigLIP 2 whose patches become weights over a vocabulary of visual words, each
// with an embedding. Source: vllm model_executor/models/ovis2_5.py, siglip2_navit.py.
#include <algorithm>

#include "model/arch_rule.h"
#include "model/towers/siglip.h"
#include "model/towers/tower.h"
#include "model/wrapped.h"

namespace vramwise::model {
namespace {

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
  // The last four mark where an image and a video begin and end.
  const int64_t head = std::max<int64_t>(1, words - 4);
  begin_projector(b, "visual_tokenizer.");
  projector_linear(b, "head.0", head, h * stride * stride, false);
  b.biased_norm("head.1", head, Role::projector);
  begin_projector(b, "");
  b.add(Role::projector, "vte.weight", {words, b.hidden()});
}

constexpr Wrapped kFamily{.type = "ovis2_5",
                          .language = "qwen3",
                          .stem = "llm.model.",
                          .head = "llm.",
                          .towers = add_visual_words};

Result<Model> build(const json::Reader& config) { return build_wrapped(config, kFamily); }

constexpr std::string_view kTypes[] = {"ovis2_5", "ovis2_6", "ovis2_6_moe"};
constexpr std::string_view kClasses[] = {"Ovis2_5", "Ovis2_5ForConditionalGeneration",
                                         "Ovis2_6ForCausalLM", "Ovis2_6_MoeForCausalLM"};

}  // namespace

const ArchRule& arch_ovis() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
