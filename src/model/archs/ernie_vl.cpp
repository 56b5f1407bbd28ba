// ERNIE 4.5 VL: a ViT, a resampler that merges patches and frames, and ERNIE 4.5 with a second set
// of experts for tokens of images. Source: transformers models/ernie4_5_vl_moe;
// baidu/ERNIE-4.5-VL-28B-A3B-PT modeling_ernie4_5_vl.py.
#include "model/arch_rule.h"
#include "model/towers/tower.h"
#include "model/wrapped.h"

namespace vramwise::model {
namespace {

// Two matrices and a LayerNorm.
void add_merge(Builder& b, const std::string& name, int64_t in, int64_t out) {
  projector_linear(b, name + ".0", out, in, true);
  projector_linear(b, name + ".2", out, out, true);
  b.biased_norm(name + ".3", out, Role::projector);
}

void add_images(Builder& b, const Fields& top) {
  const Fields vision =
      section_of(top, "vision_config")
          .with_defaults({{"depth", 32}, {"hidden_size", 1280}, {"patch_size", 14}});
  const int64_t h = vision.extent({"hidden_size", "embed_dim"});
  const int64_t width =
      vision.extent_or({"intermediate_size"}, h * vision.small_or({"mlp_ratio"}, 4));
  const int64_t layers = vision.layers({"depth"});
  const int64_t patch = vision.small({"patch_size"});
  begin_tower(b, "vision_model.");
  tower_linear(b, "patch_embed.proj", h, 3 * patch * patch, false);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string p = block_scope("blocks.", i);
    tower_norm(b, p + "norm1", h, true);
    tower_norm(b, p + "norm2", h, true);
    tower_linear(b, p + "attn.qkv", 3 * h, h, true);
    tower_linear(b, p + "attn.proj", h, h, true);
    tower_linear(b, p + "mlp.fc1", width, h, true);
    tower_linear(b, p + "mlp.fc2", h, width, true);
  }
  tower_norm(b, "ln", h, true);
  describe_tower(b, h, width, layers);
  const int64_t merge = vision.number({"spatial_merge_size"}, 2, 1, 64);
  const int64_t frames = vision.number({"temporal_merge_size", "temporal_patch_size"}, 2, 1, 64);
  const int64_t merged = h * merge * merge;
  begin_projector(b, "model.resampler_model.");
  add_merge(b, "spatial_linear", merged, merged);
  add_merge(b, "temporal_linear", merged * frames, merged);
  projector_linear(b, "mlp", b.hidden(), merged, true);
  b.weight_norm("after_norm", b.hidden(), Role::projector);
}

constexpr Wrapped kFamily{.type = "ernie4_5_moe_vl",
                          .language = "ernie4_5_moe_vl_text",
                          .stem = "model.",
                          .head = "",
                          .tied = true,
                          .towers = add_images};

Result<Model> build(const json::Reader& config) { return build_wrapped(config, kFamily); }

constexpr std::string_view kTypes[] = {"ernie4_5_moe_vl", "ernie4_5_vl_moe"};
constexpr std::string_view kClasses[] = {"Ernie4_5_VLMoeForConditionalGeneration"};

}  // namespace

const ArchRule& arch_ernie_vl() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
