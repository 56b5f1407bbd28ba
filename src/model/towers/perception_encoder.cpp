// Source: vllm model_executor/models/step_vl.py; facebookresearch/perception_models. With a
// Qwen3-8B behind it the count meets the published total of stepfun-ai/Step3-VL-10B,
// 10,171,750,144.
#include "model/towers/perception_encoder.h"

#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

// Each halves the sides of the feature map and doubles its channels.
void add_downsampler(Builder& b, std::string_view name, int64_t in) {
  b.add(Role::tower, std::string(name) + ".weight", {2 * in, in, 3, 3});
  b.add(Role::tower, std::string(name) + ".bias", {2 * in});
}

}  // namespace

void add_perception_encoder(Builder& b, const Fields& top, const Fields& vision) {
  const int64_t w = vision.extent_or({"width", "hidden_size"}, 1536);
  const int64_t layers = vision.number({"layers", "num_hidden_layers"}, 47, 1, kMaxLayers);
  const int64_t patch = vision.divisor_or({"patch_size"}, 14);
  const int64_t side = vision.small_or({"image_size"}, 728) / patch;
  const double ratio = vision.real({"mlp_ratio"}, 8960.0 / 1536.0, 0.01, 100);
  // The ratio is that of two whole numbers, written as a fraction.
  const int64_t inner = int64_t(double(w) * ratio + 0.5);
  const bool class_token = vision.flag({"use_cls_token"}, false);
  begin_tower(b, "vision_model.");
  b.add(Role::tower, "conv1.weight", {w, 3, patch, patch});
  if (class_token) b.add(Role::tower, "class_embedding", {w});
  if (vision.flag({"use_abs_posemb"}, true)) {
    b.add(Role::tower, "positional_embedding", {side * side + (class_token ? 1 : 0), w});
  }
  if (vision.flag({"use_ln_pre"}, true)) tower_norm(b, "ln_pre", w, true);
  if (vision.flag({"use_ln_post"}, false)) tower_norm(b, "ln_post", w, true);
  const bool scaled = vision.real({"ls_init_value"}, 0.1, 0, 1e6) > 0;
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string p = block_scope("transformer.resblocks.", i);
    b.add(Role::tower, p + "attn.in_proj_weight", {3 * w, w});
    b.add(Role::tower, p + "attn.in_proj_bias", {3 * w});
    tower_linear(b, p + "attn.out_proj", w, w, true);
    tower_norm(b, p + "ln_1", w, true);
    tower_norm(b, p + "ln_2", w, true);
    tower_linear(b, p + "mlp.c_fc", inner, w, true);
    tower_linear(b, p + "mlp.c_proj", w, inner, true);
    if (scaled) {
      b.add(Role::tower, p + "ls_1.gamma", {w});
      b.add(Role::tower, p + "ls_2.gamma", {w});
    }
  }
  add_downsampler(b, "vit_downsampler1", w);
  add_downsampler(b, "vit_downsampler2", 2 * w);
  begin_projector(b, "");
  projector_linear(b, "vit_large_projector", b.hidden(), 4 * w,
                   top.flag({"projector_bias"}, false));
  describe_tower(b, w, inner, layers);
}

}  // namespace vramwise::model
