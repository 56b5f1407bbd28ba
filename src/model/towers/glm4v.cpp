// Source: transformers models/glm4v/modeling_glm4v.py.
#include "model/towers/glm4v.h"

#include "model/towers/tower.h"

namespace vramwise::model {

void add_glm_merger(Builder& b, int64_t out, int64_t width) {
  begin_projector(b, "model.visual.");
  projector_linear(b, "merger.proj", out, out, false);
  b.biased_norm("merger.post_projection_norm", out, Role::projector);
  b.gated_tensors(Role::projector, Role::projector, Role::projector, "merger.", width, "gate_proj",
                  "up_proj", "down_proj", false, 1, out);
}

void add_glm4v(Builder& b, const Fields& vision) {
  const int64_t h = vision.extent({"hidden_size"});
  const int64_t out = vision.extent({"out_hidden_size"});
  const int64_t width = vision.extent({"intermediate_size"});
  const int64_t layers = vision.layers({"depth"});
  const int64_t patch = vision.small({"patch_size"});
  const int64_t merge = vision.small_or({"spatial_merge_size"}, 2);
  const int64_t side = vision.small({"image_size"}) / patch;
  const bool bias = vision.flag({"attention_bias"}, false);
  begin_tower(b, "model.visual.");
  b.add(Role::tower, "patch_embed.proj.weight",
        {h, 3 * vision.small_or({"temporal_patch_size"}, 2), patch, patch});
  b.add(Role::tower, "patch_embed.proj.bias", {h});
  b.add(Role::tower, "embeddings.position_embedding.weight", {side * side, h});
  tower_norm(b, "post_conv_layernorm", h, false);
  tower_norm(b, "post_layernorm", h, false);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string p = block_scope("blocks.", i);
    tower_norm(b, p + "norm1", h, false);
    tower_norm(b, p + "norm2", h, false);
    tower_linear(b, p + "attn.qkv", 3 * h, h, bias);
    tower_linear(b, p + "attn.proj", h, h, false);
    // The MLP inside the blocks has the width of the output, not intermediate_size.
    b.gated_tensors(Role::tower, Role::tower, Role::tower, p + "mlp.", out, "gate_proj", "up_proj",
                    "down_proj", false, 1, h);
  }
  b.add(Role::tower, "downsample.weight", {out, h, merge, merge});
  b.add(Role::tower, "downsample.bias", {out});
  add_glm_merger(b, out, width);
  describe_tower(b, h, out, layers);
}

}  // namespace vramwise::model
