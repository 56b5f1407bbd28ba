// Pieces that vision towers share. Everything inside a tower has the role `tower`.
#pragma once

#include <string>
#include <string_view>

#include "model/builder.h"

namespace vramwise::model {

// Opens a tower: the names that follow start with `scope` and count as vision.
inline void begin_tower(Builder& b, std::string scope) {
  b.end_layers(std::move(scope));
  b.set_part(Part::vision);
}
// What stands between the tower and the text model.
inline void begin_projector(Builder& b, std::string scope) {
  b.end_layers(std::move(scope));
  b.set_part(Part::projector);
}

inline void tower_linear(Builder& b, std::string_view name, int64_t out, int64_t in, bool bias) {
  b.linear(Role::tower, name, out, in, bias);
}
inline void tower_norm(Builder& b, std::string_view name, int64_t width, bool bias) {
  if (bias) {
    b.biased_norm(name, width, Role::tower);
  } else {
    b.weight_norm(name, width, Role::tower);
  }
}
inline void projector_linear(Builder& b, std::string_view name, int64_t out, int64_t in,
                             bool bias) {
  b.linear(Role::projector, name, out, in, bias);
}

// A side in pixels that a config gives as one number or as [height, width]: the first of them.
int64_t pixel_side(const Fields& vision, std::string_view key, int64_t fallback);

// "encoder.layers.<i>."
std::string block_scope(std::string_view list, int64_t index);

// Layers with q, k, v, o apart, an MLP of two matrices and two LayerNorms (CLIP, SigLIP, Llama 4).
struct ClipLayers {
  std::string_view list = "encoder.layers.";
  int64_t layers = 0, hidden = 0, width = 0;
  std::string_view output = "out_proj";
  std::string_view norm1 = "layer_norm1", norm2 = "layer_norm2";
  bool attention_bias = true;
};
void add_clip_layers(Builder& b, const ClipLayers& spec);

// What engines ask of a tower when they profile.
void describe_tower(Builder& b, int64_t hidden, int64_t width, int64_t layers);
// The largest single item: tokens of the prompt, and patches merged into each. After
// describe_tower.
void describe_items(Builder& b, int64_t tokens, int64_t patches_per_token);

}  // namespace vramwise::model
