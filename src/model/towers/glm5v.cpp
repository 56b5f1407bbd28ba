// Source: transformers models/glm5_next/modular_glm5_next.py.
#include "model/towers/glm5v.h"

#include "model/towers/glm4v.h"
#include "model/towers/tower.h"

namespace vramwise::model {

void add_glm5v(Builder& b, const Fields& vision, int64_t merger) {
  const int64_t h = vision.extent({"hidden_size"});
  const int64_t out = vision.extent({"out_hidden_size"});
  const int64_t width = vision.extent({"intermediate_size"});
  const int64_t layers = vision.layers({"depth"});
  const int64_t patch = vision.small({"patch_size"});
  const int64_t merge = vision.small_or({"spatial_merge_size"}, 2);
  const int64_t head = h / vision.divisor_or({"num_heads"}, 16);
  const bool bias = vision.flag({"attention_bias"}, true);
  begin_tower(b, "model.visual.");
  b.add(Role::tower, "patch_embed.proj.weight",
        {h, 3 * vision.small_or({"temporal_patch_size"}, 2), patch, patch});
  b.add(Role::tower, "patch_embed.proj.bias", {h});
  tower_norm(b, "post_layernorm", h, false);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string p = block_scope("blocks.", i);
    tower_norm(b, p + "norm1", h, false);
    tower_norm(b, p + "norm2", h, false);
    tower_linear(b, p + "attn.qkv", 3 * h, h, bias);
    tower_linear(b, p + "attn.proj", h, h, bias);
    tower_norm(b, p + "attn.q_norm", head, false);
    tower_norm(b, p + "attn.k_norm", head, false);
    b.gated_tensors(Role::tower, Role::tower, Role::tower, p + "mlp.", width, "gate_proj",
                    "up_proj", "down_proj", bias, 1, h);
  }
  b.add(Role::tower, "downsample.weight", {out, h, merge, merge});
  b.add(Role::tower, "downsample.bias", {out});
  add_glm_merger(b, out, vision.extent_or({"projection_intermediate_size"}, merger));
  describe_tower(b, h, width, layers);
}

}  // namespace vramwise::model
