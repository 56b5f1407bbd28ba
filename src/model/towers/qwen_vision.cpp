// Source: transformers models/qwen2_vl, models/qwen2_5_vl, models/qwen3_vl.
// Conv3d weights have five extents; channels and frames are written as one here.
#include "model/towers/qwen_vision.h"

#include <utility>

#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

struct Patches {
  int64_t channels, frames, side, merge;
};

Patches read_patches(const Fields& vision) {
  return {.channels = vision.small_or({"in_channels", "in_chans"}, 3),
          .frames = vision.small_or({"temporal_patch_size"}, 2),
          .side = vision.small({"patch_size"}),
          .merge = vision.number({"spatial_merge_size"}, 2, 1, 1024)};
}

void add_patch_embedding(Builder& b, const Patches& p, int64_t width, bool bias) {
  b.add(Role::tower, "patch_embed.proj.weight", {width, p.channels * p.frames, p.side, p.side});
  if (bias) b.add(Role::tower, "patch_embed.proj.bias", {width});
}

// `groups`: query heads per key head; keys and values are narrower than queries (EXAONE 4.5).
void add_block_attention(Builder& b, const std::string& scope, int64_t width, int64_t groups = 1) {
  tower_linear(b, scope + "attn.qkv", width + 2 * (width / groups), width, true);
  tower_linear(b, scope + "attn.proj", width, width, true);
}

// The processor lets one image take 16,384 tokens of the prompt (max_pixels 12,845,056 for patches
// of 14 merged by 2); a server that says otherwise cuts by pixels.
void describe_images(Builder& b, const Patches& p) {
  describe_items(b, 16384, p.merge * p.merge);
  if (b.model().vision) b.model().vision->pixels_per_token = p.side * p.side * p.merge * p.merge;
}

}  // namespace

void add_qwen2_vision(Builder& b, const Fields& vision) {
  const Patches p = read_patches(vision);
  const int64_t h = vision.extent({"embed_dim"});
  const int64_t width = h * vision.small_or({"mlp_ratio"}, 4);
  const int64_t layers = vision.layers({"depth"});
  const int64_t out = vision.extent_or({"hidden_size"}, b.hidden());
  begin_tower(b, "visual.");
  add_patch_embedding(b, p, h, false);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string s = block_scope("blocks.", i);
    tower_norm(b, s + "norm1", h, true);
    tower_norm(b, s + "norm2", h, true);
    add_block_attention(b, s, h);
    tower_linear(b, s + "mlp.fc1", width, h, true);
    tower_linear(b, s + "mlp.fc2", h, width, true);
  }
  const int64_t merged = h * p.merge * p.merge;
  tower_norm(b, "merger.ln_q", h, true);
  tower_linear(b, "merger.mlp.0", merged, merged, true);
  tower_linear(b, "merger.mlp.2", out, merged, true);
  describe_tower(b, h, width, layers);
  describe_images(b, p);
}

void add_qwen2_5_vision(Builder& b, const Fields& vision, std::string scope) {
  const Patches p = read_patches(vision);
  const int64_t h = vision.extent({"hidden_size"});
  const int64_t width = vision.extent({"intermediate_size"});
  const int64_t layers = vision.layers({"depth"});
  const int64_t heads = vision.divisor_or({"num_heads"}, 16);
  const int64_t kv_heads = vision.divisor_or({"num_key_value_heads"}, heads);
  const int64_t groups = kv_heads > 0 && heads % kv_heads == 0 ? heads / kv_heads : 1;
  begin_tower(b, std::move(scope));
  add_patch_embedding(b, p, h, false);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string s = block_scope("blocks.", i);
    tower_norm(b, s + "norm1", h, false);
    tower_norm(b, s + "norm2", h, false);
    add_block_attention(b, s, h, groups);
    b.gated_tensors(Role::tower, Role::tower, Role::tower, s + "mlp.", width, "gate_proj",
                    "up_proj", "down_proj", true, 1, h);
  }
  const int64_t merged = h * p.merge * p.merge;
  tower_norm(b, "merger.ln_q", h, false);
  tower_linear(b, "merger.mlp.0", merged, merged, true);
  tower_linear(b, "merger.mlp.2", vision.extent_or({"out_hidden_size"}, b.hidden()), merged, true);
  describe_tower(b, h, width, layers);
  describe_images(b, p);
}

void add_qwen3_vision(Builder& b, const Fields& vision, std::string scope) {
  const Patches p = read_patches(vision);
  const int64_t h = vision.extent({"hidden_size"});
  const int64_t width = vision.extent({"intermediate_size"});
  const int64_t out = vision.extent_or({"out_hidden_size"}, b.hidden());
  const int64_t layers = vision.layers({"depth"});
  const int64_t merged = h * p.merge * p.merge;
  const int64_t levels = int64_t(vision.any_integers({"deepstack_visual_indexes"}).size());
  begin_tower(b, std::move(scope));
  add_patch_embedding(b, p, h, true);
  b.add(Role::tower, "pos_embed.weight", {vision.extent({"num_position_embeddings"}), h});
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string s = block_scope("blocks.", i);
    tower_norm(b, s + "norm1", h, true);
    tower_norm(b, s + "norm2", h, true);
    add_block_attention(b, s, h);
    tower_linear(b, s + "mlp.linear_fc1", width, h, true);
    tower_linear(b, s + "mlp.linear_fc2", h, width, true);
  }
  tower_norm(b, "merger.norm", h, true);
  tower_linear(b, "merger.linear_fc1", merged, merged, true);
  tower_linear(b, "merger.linear_fc2", out, merged, true);
  for (int64_t i = 0; i < levels && !b.failed(); ++i) {
    const std::string s = block_scope("deepstack_merger_list.", i);
    tower_norm(b, s + "norm", merged, true);
    tower_linear(b, s + "linear_fc1", merged, merged, true);
    tower_linear(b, s + "linear_fc2", out, merged, true);
  }
  describe_tower(b, h, width, layers);
  describe_images(b, p);
  b.model().vision->deepstack_layers = levels;
}

}  // namespace vramwise::model
