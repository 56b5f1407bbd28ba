// Source: transformers models/clip/modeling_clip.py.
#include "model/towers/clip.h"

#include "model/towers/tower.h"

namespace vramwise::model {

void add_clip(Builder& b, const ClipShape& shape) {
  const int64_t h = shape.hidden;
  b.add(Role::tower, "embeddings.class_embedding", {h});
  b.add(Role::tower, "embeddings.patch_embedding.weight", {h, 3, shape.patch, shape.patch});
  b.add(Role::tower, "embeddings.position_embedding.weight", {shape.side * shape.side + 1, h});
  tower_norm(b, "pre_layrnorm", h, true);  // spelled so in the checkpoint
  add_clip_layers(b, {.layers = shape.layers, .hidden = h, .width = shape.width});
  tower_norm(b, "post_layernorm", h, true);
  describe_tower(b, h, shape.width, shape.layers);
}

int64_t add_clip(Builder& b, const Fields& vision, std::string scope) {
  ClipShape shape;
  shape.hidden = vision.extent({"hidden_size"});
  shape.width = vision.extent({"intermediate_size"});
  shape.layers = vision.layers();
  shape.patch = vision.small({"patch_size"});
  shape.side = vision.small({"image_size"}) / shape.patch;
  begin_tower(b, std::move(scope));
  add_clip(b, shape);
  return shape.hidden;
}

}  // namespace vramwise::model
