// Source: transformers models/gemma4/modeling_gemma4.py (vision encoder).
#include "model/towers/gemma4_vision.h"

#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

// A linear layer that may clip what goes in and out; the bounds are stored, not trained.
void add_clipped(Builder& b, const std::string& name, int64_t out, int64_t in, bool clips) {
  tower_linear(b, name + ".linear", out, in, false);
  if (!clips) return;
  for (const std::string_view bound : {"input_min", "input_max", "output_min", "output_max"}) {
    b.buffer(Role::tower, name + "." + std::string(bound), {1});
  }
}

}  // namespace

void add_gemma4_vision(Builder& b, const Fields& vision) {
  const int64_t h = vision.extent({"hidden_size"});
  const int64_t width = vision.extent({"intermediate_size"});
  const int64_t layers = vision.layers();
  const int64_t patch = vision.small({"patch_size"});
  const int64_t heads = vision.small({"num_attention_heads"});
  const int64_t kv = vision.divisor_or({"num_key_value_heads"}, heads);
  const int64_t dim = vision.divisor_or({"head_dim"}, 64);
  const bool clips = vision.flag({"use_clipped_linears"}, false);
  begin_tower(b, "model.vision_tower.");
  tower_linear(b, "patch_embedder.input_proj", h, 3 * patch * patch, false);
  b.add(Role::tower, "patch_embedder.position_embedding_table",
        {2, vision.extent({"position_embedding_size"}), h});
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string p = block_scope("encoder.layers.", i);
    add_clipped(b, p + "self_attn.q_proj", heads * dim, h, clips);
    add_clipped(b, p + "self_attn.k_proj", kv * dim, h, clips);
    add_clipped(b, p + "self_attn.v_proj", kv * dim, h, clips);
    add_clipped(b, p + "self_attn.o_proj", h, heads * dim, clips);
    tower_norm(b, p + "self_attn.q_norm", dim, false);
    tower_norm(b, p + "self_attn.k_norm", dim, false);
    add_clipped(b, p + "mlp.gate_proj", width, h, clips);
    add_clipped(b, p + "mlp.up_proj", width, h, clips);
    add_clipped(b, p + "mlp.down_proj", h, width, clips);
    for (const std::string_view name :
         {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
          "post_feedforward_layernorm"}) {
      tower_norm(b, p + std::string(name), h, false);
    }
  }
  if (vision.flag({"standardize"}, false)) {
    b.buffer(Role::tower, "std_bias", {h});
    b.buffer(Role::tower, "std_scale", {h});
  }
  begin_projector(b, "model.embed_vision.");
  projector_linear(b, "embedding_projection", b.hidden(), h, false);
  describe_tower(b, h, width, layers);
  // A video takes the most: 2,496 tokens, each pooled from 3 x 3 patches.
  describe_items(b, 2496, 9);
  b.model().vision->image_tokens = vision.extent_or({"default_output_length"}, 280);
}

}  // namespace vramwise::model
