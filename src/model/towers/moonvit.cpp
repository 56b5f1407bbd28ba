// Source: moonshotai/Kimi-VL-A3B-Instruct modeling_kimi_vl.py; moonshotai/Kimi-K2.5, whose config
// prefixes the tower's keys with vt_.
#include "model/towers/moonvit.h"

#include "model/towers/tower.h"

namespace vramwise::model {

void add_moonvit(Builder& b, const Fields& vision) {
  const int64_t h = vision.extent({"vt_hidden_size", "hidden_size"});
  const int64_t width = vision.extent({"vt_intermediate_size", "intermediate_size"});
  const int64_t layers = vision.layers({"vt_num_hidden_layers", "num_hidden_layers"});
  const int64_t patch = vision.small({"patch_size"});
  const std::vector<int64_t> kernel = vision.any_integers({"merge_kernel_size"}, 1024);
  const int64_t merged = h * (kernel.size() == 2 ? kernel[0] * kernel[1] : 4);
  begin_tower(b, "vision_tower.");
  b.add(Role::tower, "patch_embed.proj.weight", {h, 3, patch, patch});
  b.add(Role::tower, "patch_embed.proj.bias", {h});
  b.add(Role::tower, "patch_embed.pos_emb.weight",
        {vision.small({"init_pos_emb_height"}), vision.small({"init_pos_emb_width"}), h});
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string p = block_scope("encoder.blocks.", i);
    tower_norm(b, p + "norm0", h, true);
    tower_norm(b, p + "norm1", h, true);
    tower_linear(b, p + "wqkv", 3 * h, h, true);
    tower_linear(b, p + "wo", h, h, true);
    tower_linear(b, p + "mlp.fc0", width, h, true);
    tower_linear(b, p + "mlp.fc1", h, width, true);
  }
  tower_norm(b, "encoder.final_layernorm", h, true);
  const bool k25 = vision.has({"vt_hidden_size"});
  begin_projector(b, k25 ? "mm_projector." : "multi_modal_projector.");
  b.biased_norm("pre_norm", h, Role::projector);
  projector_linear(b, k25 ? "proj.0" : "linear_1", merged, merged, true);
  projector_linear(b, k25 ? "proj.2" : "linear_2", b.hidden(), merged, true);
  describe_tower(b, h, width, layers);
}

}  // namespace vramwise::model
