// Phi-4-multimodal: Phi-4-mini with SigLIP and a conformer for sound. The adapters that were
// trained with either lie in the checkpoint beside the weights; engines load them as adapters or
// not at all. Source: microsoft/Phi-4-multimodal-instruct modeling_phi4mm.py; transformers
// models/phi4_multimodal; vllm model_executor/models/phi4mm.py (load_weights skips "lora").
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/towers/phi4_audio.h"
#include "model/towers/siglip.h"
#include "model/towers/tower.h"
#include "model/wrapped.h"

namespace vramwise::model {
namespace {

void add_images(Builder& b, const Fields& top) {
  const Fields vision = section_of(top, "vision_config", Absent::empty)
                            .with_defaults({{"hidden_size", 1152},
                                            {"intermediate_size", 4304},
                                            {"num_hidden_layers", 27},
                                            {"image_size", 448},
                                            {"patch_size", 14}});
  const std::string scope = "model.embed_tokens_extend.image_embed.";
  const int64_t h =
      add_siglip(b, vision, {.scope = scope + "img_processor.", .class_has_head = true});
  begin_projector(b, scope);
  b.add(Role::projector, "glb_GN", {1, 1, h});
  b.add(Role::projector, "sub_GN", {1, 1, 1, h});
  projector_linear(b, "img_projection.0", b.hidden(), h, true);
  projector_linear(b, "img_projection.2", b.hidden(), b.hidden(), true);
}

// Two low-rank matrices beside each matrix of each layer.
void add_adapters(Builder& b, const Fields& top, std::string_view key, int64_t class_rank) {
  const Fields& text = b.text();
  const int64_t rank = section_of(top, key, Absent::empty).divisor_or({"r"}, class_rank);
  const Heads heads = read_heads(text);
  const int64_t h = b.hidden(), width = text.extent({"intermediate_size"});
  const int64_t attended = heads.query * heads.dim;
  struct Beside {
    std::string_view name;
    int64_t in, out;
  };
  const Beside matrices[] = {{"self_attn.qkv_proj", h, attended + 2 * heads.kv * heads.dim},
                             {"self_attn.o_proj", attended, h},
                             {"mlp.gate_up_proj", h, 2 * width},
                             {"mlp.down_proj", width, h}};
  const std::string adapter = key == "vision_lora" ? "vision" : "speech";
  b.end_layers("model.");
  b.set_part(Part::stored_unused);
  for (int64_t i = 0; i < text.layers() && !b.failed(); ++i) {
    for (const Beside& m : matrices) {
      const std::string name = block_scope("layers.", i) + std::string(m.name);
      b.add(Role::other, name + ".lora_A." + adapter + ".weight", {rank, m.in});
      b.add(Role::other, name + ".lora_B." + adapter + ".weight", {m.out, rank});
    }
  }
}

void add_all(Builder& b, const Fields& top) {
  add_images(b, top);
  add_phi4_audio(b, section_of(top, "audio_config", Absent::empty),
                 "model.embed_tokens_extend.audio_embed.");
  add_adapters(b, top, "vision_lora", 256);
  add_adapters(b, top, "speech_lora", 320);
}

constexpr Wrapped kFamily{.type = "phi4mm",
                          .language = "phi3",
                          .stem = "model.",
                          .head = "",
                          .tied = true,
                          .towers = add_all};

Result<Model> build(const json::Reader& config) { return build_wrapped(config, kFamily); }

constexpr std::string_view kTypes[] = {"phi4mm", "phi4_multimodal"};
constexpr std::string_view kClasses[] = {"Phi4MMForCausalLM", "Phi4MultimodalForCausalLM"};

}  // namespace

const ArchRule& arch_phi4mm() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
