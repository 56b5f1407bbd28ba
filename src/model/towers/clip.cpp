// Source: transformers models/clip/modeling_clip.py.
#include "model/towers/clip.h"

#include "model/towers/tower.h"

namespace vramwise::model {

int64_t add_clip(Builder& b, const Fields& vision, std::string scope) {
  const int64_t h = vision.extent({"hidden_size"});
  const int64_t width = vision.extent({"intermediate_size"});
  const int64_t layers = vision.layers();
  const int64_t patch = vision.small({"patch_size"});
  const int64_t side = vision.small({"image_size"}) / patch;
  begin_tower(b, std::move(scope));
  b.add(Role::tower, "embeddings.class_embedding", {h});
  b.add(Role::tower, "embeddings.patch_embedding.weight", {h, 3, patch, patch});
  b.add(Role::tower, "embeddings.position_embedding.weight", {side * side + 1, h});
  tower_norm(b, "pre_layrnorm", h, true);  // spelled so in the checkpoint
  add_clip_layers(b, {.layers = layers, .hidden = h, .width = width});
  tower_norm(b, "post_layernorm", h, true);
  describe_tower(b, h, width, layers);
  return h;
}

}  // namespace vramwise::model
