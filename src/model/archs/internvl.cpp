// InternVL 2, 2.5, 3 and 3.5 and Intern-S1: InternViT, a projector of two matrices, and a language
// model of any family. The copies in transformers' own format (model_type internvl) keep q, k and v
// apart and name tensors in their own way; the counts are the same and the names of the original
// are shown. Source: OpenGVLab/InternVL2_5-8B modeling_internvl_chat.py, modeling_intern_vit.py;
// transformers models/internvl; internlm/Intern-S1 configuration_interns1.py.
#include <algorithm>

#include "model/arch_rule.h"
#include "model/dispatch.h"
#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

int64_t add_tower(Builder& b, const Fields& vision) {
  const int64_t h = vision.extent({"hidden_size"});
  const int64_t width = vision.extent({"intermediate_size"});
  const int64_t layers = vision.layers();
  const int64_t patch = pixel_side(vision, "patch_size", 14);
  const int64_t side = pixel_side(vision, "image_size", 448) / patch;
  const bool qkv_bias = vision.flag({"qkv_bias", "attention_bias"}, true);
  const bool qk_norm = vision.flag({"qk_normalization", "use_qk_norm"}, false);
  const bool layer_norm = vision.text_or({"norm_type"}, "layer_norm") != "rms_norm";
  begin_tower(b, "vision_model.");
  b.add(Role::tower, "embeddings.class_embedding", {1, 1, h});
  b.add(Role::tower, "embeddings.patch_embedding.weight", {h, 3, patch, patch});
  b.add(Role::tower, "embeddings.patch_embedding.bias", {h});
  b.add(Role::tower, "embeddings.position_embedding", {1, side * side + 1, h});
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string p = block_scope("encoder.layers.", i);
    tower_linear(b, p + "attn.qkv", 3 * h, h, qkv_bias);
    tower_linear(b, p + "attn.proj", h, h, true);
    if (qk_norm) {
      tower_norm(b, p + "attn.q_norm", h, false);
      tower_norm(b, p + "attn.k_norm", h, false);
    }
    b.add(Role::tower, p + "ls1", {h});
    b.add(Role::tower, p + "ls2", {h});
    tower_linear(b, p + "mlp.fc1", width, h, true);
    tower_linear(b, p + "mlp.fc2", h, width, true);
    tower_norm(b, p + "norm1", h, layer_norm);
    tower_norm(b, p + "norm2", h, layer_norm);
  }
  describe_tower(b, h, width, layers);
  return h;
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const auto text = config.find({"llm_config", "text_config"});
  if (!text) {
    return fail(config.error(ErrorCode::missing_field, "field 'llm_config' is missing"));
  }
  TRY_ASSIGN(Model built, build_by_type(*text));
  const Fields text_fields(*text);
  Builder b(top, text_fields, {});
  b.adopt(std::move(built), "language_model.");
  const auto vision = top.section({"vision_config"});
  if (vision) {
    const int64_t h = add_tower(b, *vision);
    const double ratio = top.real({"downsample_ratio"}, 0.5, 0.01, 1);
    const int64_t merge = int64_t(1 / ratio);
    const int64_t merged = h * merge * merge;
    // Up to max_dynamic_patch tiles and a thumbnail.
    const int64_t side =
        pixel_side(*vision, "image_size", 448) / pixel_side(*vision, "patch_size", 14);
    const int64_t tiles =
        top.small_or({"max_dynamic_patch"}, 12) + (top.flag({"use_thumbnail"}, true) ? 1 : 0);
    describe_items(b, tiles * (side * side / std::max<int64_t>(1, merge * merge)), merge * merge);
    begin_projector(b, "mlp1.");
    b.biased_norm("0", merged, Role::projector);
    projector_linear(b, "1", b.hidden(), merged, true);
    projector_linear(b, "3", b.hidden(), b.hidden(), true);
  }
  if (top.failed()) return fail(*top.fault());
  return b.finish();
}

constexpr std::string_view kTypes[] = {"internvl_chat", "internvl", "interns1"};
constexpr std::string_view kClasses[] = {"InternVLChatModel", "InternVLForConditionalGeneration",
                                         "InternS1ForConditionalGeneration"};

}  // namespace

const ArchRule& arch_internvl() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
