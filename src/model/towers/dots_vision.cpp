// Source: rednote-hilab/dots.ocr configuration_dots.py and modeling_dots_vision.py; vllm
// model_executor/models/dots_ocr.py.
#include "model/towers/dots_vision.h"

#include "model/towers/tower.h"

namespace vramwise::model {

void add_dots_vision(Builder& b, const Fields& vision) {
  const int64_t h = vision.extent_or({"embed_dim"}, 1536);
  const int64_t out = vision.extent_or({"hidden_size"}, 1536);
  const int64_t width = vision.extent_or({"intermediate_size"}, 4224);
  const int64_t layers = vision.number({"num_hidden_layers"}, 42, 1, kMaxLayers);
  const int64_t channels = vision.small_or({"num_channels"}, 3);
  const int64_t side = vision.small_or({"patch_size"}, 14);
  const int64_t merge = vision.number({"spatial_merge_size"}, 2, 1, 1024);
  const bool bias = vision.flag({"use_bias"}, false);
  begin_tower(b, "vision_tower.");
  b.add(Role::tower, "patch_embed.patchifier.proj.weight", {h, channels, side, side});
  b.add(Role::tower, "patch_embed.patchifier.proj.bias", {h});
  tower_norm(b, "patch_embed.patchifier.norm", h, false);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string s = block_scope("blocks.", i);
    tower_norm(b, s + "norm1", h, false);
    tower_norm(b, s + "norm2", h, false);
    tower_linear(b, s + "attn.qkv", 3 * h, h, bias);
    tower_linear(b, s + "attn.proj", h, h, bias);
    b.gated_tensors(Role::tower, Role::tower, Role::tower, s + "mlp.", width, "fc1", "fc3", "fc2",
                    bias, 1, h);
  }
  if (vision.flag({"post_norm"}, true)) tower_norm(b, "post_trunk_norm", h, false);
  const int64_t merged = h * merge * merge;
  tower_norm(b, "merger.ln_q", h, true);
  tower_linear(b, "merger.mlp.0", merged, merged, true);
  tower_linear(b, "merger.mlp.2", out, merged, true);
  describe_tower(b, h, width, layers);
  // Its processor takes images of up to 11,289,600 pixels: preprocessor_config.json.
  describe_items(b, 14400, merge * merge);
  if (b.model().vision) b.model().vision->pixels_per_token = side * side * merge * merge;
}

}  // namespace vramwise::model
