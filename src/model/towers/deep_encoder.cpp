// Source: deepseek-ai/DeepSeek-OCR deepencoder.py and modeling_deepseekocr.py, DeepSeek-OCR-2
// deepencoderv2.py. What the configs leave out is fixed in that code. The sums are checked against
// the hub's element counts.
#include "model/towers/deep_encoder.h"

#include <algorithm>

#include "base/text.h"
#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

constexpr int64_t kSamPatch = 16;
constexpr int64_t kSamWindow = 14;
constexpr int64_t kSamNeck = 256;

// Relative positions along both axes of a square of `side` patches.
void add_relative_positions(Builder& b, const std::string& scope, int64_t side, int64_t head_dim) {
  b.add(Role::tower, scope + "attn.rel_pos_h", {2 * side - 1, head_dim});
  b.add(Role::tower, scope + "attn.rel_pos_w", {2 * side - 1, head_dim});
}

void add_sam(Builder& b, const Fields& sam, int64_t image_side) {
  const int64_t h = sam.extent_or({"width"}, 768);
  const int64_t layers = sam.number({"layers"}, 12, 1, kMaxLayers);
  const int64_t heads = sam.divisor_or({"heads"}, 12);
  const int64_t side = image_side / kSamPatch;
  std::vector<int64_t> global = sam.any_integers({"global_attn_indexes"});
  std::vector<int64_t> channels = sam.any_integers({"downsample_channels"});
  if (global.empty()) global = {2, 5, 8, 11};
  if (channels.empty()) channels = {512, 1024};
  begin_tower(b, "model.sam_model.");
  b.add(Role::tower, "pos_embed", {1, side, side, h});
  b.add(Role::tower, "patch_embed.proj.weight", {h, 3, kSamPatch, kSamPatch});
  b.add(Role::tower, "patch_embed.proj.bias", {h});
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string s = block_scope("blocks.", i);
    const bool everywhere = std::find(global.begin(), global.end(), i) != global.end();
    tower_norm(b, s + "norm1", h, true);
    add_relative_positions(b, s, everywhere ? side : kSamWindow, h / heads);
    tower_linear(b, s + "attn.qkv", 3 * h, h, true);
    tower_linear(b, s + "attn.proj", h, h, true);
    tower_norm(b, s + "norm2", h, true);
    tower_linear(b, s + "mlp.lin1", 4 * h, h, true);
    tower_linear(b, s + "mlp.lin2", h, 4 * h, true);
  }
  b.add(Role::tower, "neck.0.weight", {kSamNeck, h, 1, 1});
  tower_norm(b, "neck.1", kSamNeck, true);
  b.add(Role::tower, "neck.2.weight", {kSamNeck, kSamNeck, 3, 3});
  tower_norm(b, "neck.3", kSamNeck, true);
  int64_t from = kSamNeck;
  for (size_t i = 0; i < channels.size() && i < 8; ++i) {
    const int64_t to = std::clamp<int64_t>(channels[i], 1, kMaxSmall);
    b.add(Role::tower, "net_" + format_integer(int64_t(i) + 2) + ".weight", {to, from, 3, 3});
    from = to;
  }
}

int64_t add_clip_large(Builder& b, const Fields& clip) {
  const int64_t h = clip.extent_or({"width"}, 1024);
  const int64_t layers = clip.number({"layers"}, 24, 1, kMaxLayers);
  const int64_t patch = clip.divisor_or({"patch_size"}, 14);
  const int64_t side = clip.divisor_or({"image_size"}, 224) / patch;
  begin_tower(b, "model.vision_model.");
  b.add(Role::tower, "embeddings.class_embedding", {h});
  // In the file although the patches come from the other encoder.
  b.add(Role::tower, "embeddings.patch_embedding.weight", {h, 3, patch, patch});
  b.add(Role::tower, "embeddings.position_embedding.weight", {side * side + 1, h});
  tower_norm(b, "pre_layrnorm", h, true);  // spelled so in the checkpoint
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string s = block_scope("transformer.layers.", i);
    tower_norm(b, s + "layer_norm1", h, true);
    tower_linear(b, s + "self_attn.qkv_proj", 3 * h, h, true);
    tower_linear(b, s + "self_attn.out_proj", h, h, true);
    tower_norm(b, s + "layer_norm2", h, true);
    tower_linear(b, s + "mlp.fc1", 4 * h, h, true);
    tower_linear(b, s + "mlp.fc2", h, 4 * h, true);
  }
  describe_tower(b, h, 4 * h, layers);
  return h;
}

// DeepSeek-OCR 2: Qwen2 0.5B without its embedding, reading the map and learned queries.
int64_t add_qwen2_encoder(Builder& b, const Fields& qwen2) {
  const int64_t h = qwen2.extent_or({"dim"}, 896);
  const int64_t layers = 24, width = 4864, kv = 2 * 64;
  begin_tower(b, "model.qwen2_model.");
  b.add(Role::tower, "query_1024.weight", {256, h});
  b.add(Role::tower, "query_768.weight", {144, h});
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string s = block_scope("model.model.layers.", i);
    tower_linear(b, s + "self_attn.q_proj", h, h, true);
    tower_linear(b, s + "self_attn.k_proj", kv, h, true);
    tower_linear(b, s + "self_attn.v_proj", kv, h, true);
    tower_linear(b, s + "self_attn.o_proj", h, h, false);
    b.gated_tensors(Role::tower, Role::tower, Role::tower, s + "mlp.", width, "gate_proj",
                    "up_proj", "down_proj", false, 1, h);
    tower_norm(b, s + "input_layernorm", h, false);
    tower_norm(b, s + "post_attention_layernorm", h, false);
  }
  tower_norm(b, "model.model.norm", h, false);
  describe_tower(b, h, width, layers);
  return h;
}

}  // namespace

void add_deep_encoder(Builder& b, const Fields& vision) {
  const Fields width = vision.nested({"width"});
  add_sam(b, width.nested({"sam_vit_b"}), vision.extent_or({"image_size"}, 1024));
  if (const auto qwen2 = width.section({"qwen2-0-5b"})) {
    const int64_t from = add_qwen2_encoder(b, *qwen2);
    begin_projector(b, "model.");
    projector_linear(b, "projector.layers", b.hidden(), from, true);
    b.add(Role::projector, "view_seperator", {b.hidden()});  // spelled so in the checkpoint
    return;
  }
  const int64_t h = add_clip_large(b, width.nested({"clip-l-14-224"}));
  begin_projector(b, "model.");
  projector_linear(b, "projector.layers", b.hidden(), 2 * h, true);  // both encoders side by side
  b.add(Role::projector, "image_newline", {b.hidden()});
  b.add(Role::projector, "view_seperator", {b.hidden()});  // spelled so in the checkpoint
}

}  // namespace vramwise::model
