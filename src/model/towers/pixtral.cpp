// Source: transformers models/pixtral/modeling_pixtral.py, models/mistral3/modeling_mistral3.py.
#include "model/towers/pixtral.h"

#include <utility>

#include "model/towers/tower.h"

namespace vramwise::model {

int64_t add_pixtral_tower(Builder& b, const Fields& vision, std::string scope) {
  const int64_t h = vision.extent({"hidden_size"});
  const int64_t width = vision.extent({"intermediate_size"});
  const int64_t layers = vision.layers();
  const int64_t patch = vision.small({"patch_size"});
  const int64_t heads = vision.small({"num_attention_heads"});
  int64_t dim = vision.small_or({"head_dim"}, 0);
  if (dim == 0) dim = vision.divide(h, "vision hidden_size", heads, "num_attention_heads");
  begin_tower(b, std::move(scope));
  b.add(Role::tower, "patch_conv.weight", {h, vision.small_or({"num_channels"}, 3), patch, patch});
  tower_norm(b, "ln_pre", h, false);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string p = block_scope("transformer.layers.", i);
    for (const std::string_view name : {"q_proj", "k_proj", "v_proj"}) {
      tower_linear(b, p + "attention." + std::string(name), heads * dim, h, false);
    }
    tower_linear(b, p + "attention.o_proj", h, heads * dim, false);
    b.gated_tensors(Role::tower, Role::tower, Role::tower, p + "feed_forward.", width, "gate_proj",
                    "up_proj", "down_proj", false, 1, h);
    tower_norm(b, p + "attention_norm", h, false);
    tower_norm(b, p + "ffn_norm", h, false);
  }
  describe_tower(b, h, width, layers);
  return h;
}

void add_pixtral_projector(Builder& b, const Fields& top, int64_t hidden, std::string scope) {
  begin_projector(b, std::move(scope));
  const int64_t merge = top.small_or({"spatial_merge_size"}, 2);
  const bool bias = top.flag({"multimodal_projector_bias"}, false);
  b.weight_norm("norm", hidden, Role::projector);
  projector_linear(b, "patch_merger.merging_layer", hidden, hidden * merge * merge, false);
  projector_linear(b, "linear_1", b.hidden(), hidden, bias);
  projector_linear(b, "linear_2", b.hidden(), b.hidden(), bias);
}

void add_pixtral(Builder& b, const Fields& top, const Fields& vision) {
  const int64_t h = add_pixtral_tower(b, vision, "vision_tower.");
  add_pixtral_projector(b, top, h, "multi_modal_projector.");
  // The largest image, 1540 x 1540 pixels in patches of 14, is 110 x 110 patches merged 2 x 2.
  describe_items(b, 3025, 4);
}

}  // namespace vramwise::model
