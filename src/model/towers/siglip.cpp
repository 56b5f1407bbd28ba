// Source: transformers models/siglip/modeling_siglip.py, models/siglip2/modeling_siglip2.py.
#include "model/towers/siglip.h"

#include "model/towers/tower.h"

namespace vramwise::model {

void add_siglip_head(Builder& b, int64_t hidden, int64_t width, Part part) {
  const Part before = b.part();
  b.set_part(part);
  b.add(Role::tower, "head.probe", {1, 1, hidden});
  b.add(Role::tower, "head.attention.in_proj_weight", {3 * hidden, hidden});
  b.add(Role::tower, "head.attention.in_proj_bias", {3 * hidden});
  tower_linear(b, "head.attention.out_proj", hidden, hidden, true);
  tower_norm(b, "head.layernorm", hidden, true);
  tower_linear(b, "head.mlp.fc1", width, hidden, true);
  tower_linear(b, "head.mlp.fc2", hidden, width, true);
  b.set_part(before);
}

Fields siglip_fields(const Fields& vision) {
  return vision.with_defaults({{"hidden_size", 768},
                               {"intermediate_size", 3072},
                               {"num_hidden_layers", 12},
                               {"image_size", 224},
                               {"patch_size", 16}});
}

int64_t add_siglip(Builder& b, const Fields& vision, const SiglipSpec& spec) {
  const int64_t h = vision.extent({"hidden_size"});
  const int64_t width = vision.extent({"intermediate_size"});
  const int64_t layers = vision.layers();
  const int64_t patch = vision.small({"patch_size"});
  const int64_t channels = vision.small_or({"num_channels"}, 3);
  begin_tower(b, spec.scope);
  int64_t positions = 0;
  if (spec.flattened_patches) {
    positions = vision.small({"num_patches"});
    b.add(Role::tower, "embeddings.patch_embedding.weight", {h, channels * patch * patch});
  } else {
    const int64_t side = vision.small({"image_size"}) / patch;
    positions = side * side;
    b.add(Role::tower, "embeddings.patch_embedding.weight", {h, channels, patch, patch});
  }
  b.add(Role::tower, "embeddings.patch_embedding.bias", {h});
  b.add(Role::tower, "embeddings.position_embedding.weight", {positions, h});
  add_clip_layers(b, {.layers = layers, .hidden = h, .width = width});
  tower_norm(b, "post_layernorm", h, true);
  if (spec.class_has_head && vision.flag({"vision_use_head"}, true)) {
    add_siglip_head(b, h, width, Part::vision);
  }
  describe_tower(b, h, width, layers);
  return h;
}

}  // namespace vramwise::model
