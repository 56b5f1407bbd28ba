// Source: apple/aimv2-large-patch14-448 modeling_aimv2.py, vllm model_executor/models/aimv2.py.
#include "model/towers/aimv2.h"

#include "model/towers/tower.h"

namespace vramwise::model {

int64_t add_aimv2(Builder& b, const Fields& vision, std::string scope) {
  const int64_t h = vision.extent_or({"hidden_size"}, 1024);
  const int64_t width = vision.extent_or({"intermediate_size"}, 2816);
  const int64_t layers = vision.number({"num_hidden_layers"}, 24, 1, kMaxLayers);
  const int64_t patch = vision.divisor_or({"patch_size"}, 14);
  const int64_t channels = vision.divisor_or({"num_channels"}, 3);
  const int64_t side = vision.divisor_or({"image_size"}, 224) / patch;
  const bool bias = vision.flag({"use_bias"}, false);
  const bool qkv_bias = vision.flag({"qkv_bias"}, false);
  begin_tower(b, std::move(scope));
  b.add(Role::tower, "preprocessor.patchifier.proj.weight", {h, channels, patch, patch});
  b.add(Role::tower, "preprocessor.patchifier.proj.bias", {h});
  tower_norm(b, "preprocessor.patchifier.norm", h, false);
  b.add(Role::tower, "preprocessor.pos_embed", {1, side * side, h});
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string block = block_scope("trunk.blocks.", i);
    tower_linear(b, block + "attn.qkv", 3 * h, h, qkv_bias);
    tower_linear(b, block + "attn.proj", h, h, bias);
    tower_norm(b, block + "norm_1", h, false);
    tower_linear(b, block + "mlp.fc1", width, h, bias);
    tower_linear(b, block + "mlp.fc2", h, width, bias);
    tower_linear(b, block + "mlp.fc3", width, h, bias);
    tower_norm(b, block + "norm_2", h, false);
  }
  tower_norm(b, "trunk.post_trunk_norm", h, false);
  describe_tower(b, h, width, layers);
  return h;
}

}  // namespace vramwise::model
