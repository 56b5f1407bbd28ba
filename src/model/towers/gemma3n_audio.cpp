// Source: transformers models/gemma3n/modeling_gemma3n.py (audio encoder), 681,348,640 parameters.
#include "model/towers/gemma3n_audio.h"

#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

// One half-step feed-forward of a conformer block.
void add_half_step(Builder& b, const std::string& name, int64_t h) {
  tower_norm(b, name + ".pre_layer_norm", h, false);
  tower_linear(b, name + ".ffw_layer_1", 4 * h, h, false);
  tower_linear(b, name + ".ffw_layer_2", h, 4 * h, false);
  tower_norm(b, name + ".post_layer_norm", h, false);
}

}  // namespace

int64_t add_gemma3n_audio(Builder& b, const Fields& audio) {
  const int64_t h = audio.extent_or({"hidden_size"}, 1536);
  const int64_t layers = audio.divisor_or({"conf_num_hidden_layers"}, 12);
  const int64_t heads = audio.divisor_or({"conf_num_attention_heads"}, 8);
  const int64_t kernel = audio.divisor_or({"conf_conv_kernel_size"}, 5);
  const int64_t mel_bins = audio.extent_or({"input_feat_size"}, 128);
  const int64_t first = 128, second = 32;
  begin_tower(b, "model.audio_tower.");
  b.set_part(Part::audio);
  b.add(Role::tower, "subsample_conv_projection.conv_0.conv.weight", {first, 1, 3, 3});
  tower_norm(b, "subsample_conv_projection.conv_0.norm", first, false);
  b.add(Role::tower, "subsample_conv_projection.conv_1.conv.weight", {second, first, 3, 3});
  tower_norm(b, "subsample_conv_projection.conv_1.norm", second, false);
  // Two convolutions of stride 2 leave a quarter of the mel bins in each channel.
  tower_linear(b, "subsample_conv_projection.input_proj_linear", h, second * mel_bins / 4, false);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string p = block_scope("conformer.", i);
    add_half_step(b, p + "ffw_layer_start", h);
    tower_norm(b, p + "attention.pre_attn_norm", h, false);
    for (const std::string_view name :
         {"q_proj", "k_proj", "v_proj", "relative_position_embedding.pos_proj"}) {
      tower_linear(b, p + "attention.attn." + std::string(name), h, h, false);
    }
    b.add(Role::tower, p + "attention.attn.per_dim_scale", {h / heads});
    tower_linear(b, p + "attention.post", h, h, false);
    tower_norm(b, p + "attention.post_norm", h, false);
    tower_norm(b, p + "lconv1d.pre_layer_norm", h, false);
    tower_linear(b, p + "lconv1d.linear_start", 2 * h, h, false);
    b.add(Role::tower, p + "lconv1d.depthwise_conv1d.weight", {h, 1, kernel});
    tower_norm(b, p + "lconv1d.conv_norm", h, false);
    tower_linear(b, p + "lconv1d.linear_end", h, h, false);
    add_half_step(b, p + "ffw_layer_end", h);
    tower_norm(b, p + "norm", h, false);
  }
  return h;
}

}  // namespace vramwise::model
