// Source: deepseek-ai/DeepSeek-V4.1-Flash inference/vision.py.
#include "model/towers/deepseek_vit.h"

#include "model/towers/tower.h"

namespace vramwise::model {

void add_deepseek_vit(Builder& b, const Fields& vision) {
  const int64_t h = vision.extent({"hidden_size"});
  const int64_t width = vision.extent({"intermediate_size"});
  const int64_t layers = vision.layers();
  const int64_t patch = vision.small({"patch_size"});
  const int64_t merge = vision.small_or({"downsample_ratio"}, 3);
  begin_tower(b, "vision.");
  tower_linear(b, "patch_embed.proj", h, 3 * patch * patch, true);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string p = block_scope("blocks.", i);
    tower_norm(b, p + "norm1", h, false);
    tower_norm(b, p + "norm2", h, false);
    tower_linear(b, p + "attn.wqkv", 3 * h, h, true);
    tower_linear(b, p + "attn.wo", h, h, true);
    tower_linear(b, p + "mlp.w1", 2 * width, h, false);  // gate and up in one
    tower_linear(b, p + "mlp.w2", h, width, false);
  }
  tower_norm(b, "norm", h, false);
  begin_projector(b, "aligner.");
  projector_linear(b, "w1", b.hidden(), merge * merge * h, true);
  projector_linear(b, "w2", b.hidden(), b.hidden(), true);
  begin_projector(b, "");
  for (const std::string_view name : {"image_start", "image_end", "image_newline"}) {
    b.add(Role::projector, name, {b.hidden()});
  }
  describe_tower(b, h, width, layers);
  describe_items(b, vision.extent_or({"max_image_tokens"}, 1024), merge * merge);
}

}  // namespace vramwise::model
