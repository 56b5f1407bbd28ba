// Source: transformers models/siglip/modeling_siglip.py, models/siglip2/modeling_siglip2.py.
#include "model/towers/siglip.h"

#include "model/towers/tower.h"

namespace vramwise::model {

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
  describe_tower(b, h, width, layers);
  return h;
}

}  // namespace vramwise::model
