// Phi-3, 3.5, 4 and Phi-4-mini: q, k, v in one matrix, gate and up in another; Phi-3-vision and
// Phi-3.5-vision with their CLIP tower. Source: transformers models/phi3/modeling_phi3.py,
// microsoft/Phi-3.5-vision-instruct modeling_phi3_v.py, vllm model_executor/models/phi3v.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"
#include "model/towers/clip.h"
#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

// CLIP ViT-L/14 at 336 pixels, whatever the config says of it: its classes know no other.
void add_images(Builder& b) {
  constexpr int64_t kHidden = 1024, kWidth = 4096, kLayers = 24, kPatch = 14, kSide = 336 / kPatch;
  const std::string scope = "model.vision_embed_tokens.";
  begin_tower(b, scope + "img_processor.vision_model.");
  add_clip(b, {kHidden, kWidth, kLayers, kPatch, kSide});
  begin_projector(b, scope);
  // Four patches are merged into one; learned vectors stand between rows and between crops.
  const int64_t merged = 4 * kHidden;
  b.add(Role::projector, "glb_GN", {1, 1, merged});
  b.add(Role::projector, "sub_GN", {1, 1, 1, merged});
  projector_linear(b, "img_projection.0", b.hidden(), merged, true);
  projector_linear(b, "img_projection.2", b.hidden(), b.hidden(), true);
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 4096, .gguf = "phi3"});
  const int64_t window = uniform_window(b, 0);
  LlamaLike options;
  options.fused = true;
  options.attention = [window](int64_t, AttentionBlock& block) {
    block.window = window;
    block.query_scaled = true;
  };
  add_llama_like(b, options);
  b.model().gguf.ignores_window = true;
  if (fields.text_or({"model_type"}, "") == "phi3_v") add_images(b);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"phi3", "phi3_v"};
constexpr std::string_view kClasses[] = {"Phi3ForCausalLM", "Phi3VForCausalLM"};

}  // namespace

const ArchRule& arch_phi3() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
