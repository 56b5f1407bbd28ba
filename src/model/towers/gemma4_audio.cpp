// Source: transformers models/gemma4/modeling_gemma4.py (audio encoder). The counts meet the
// published totals of google/gemma-4-E2B-it (5,123,178,051) and E4B-it (7,996,156,490): 304,824,608
// parameters and the projection, once the unused K and V of layers with a shared cache and the
// layer scalars are taken off.
#include "model/towers/gemma4_audio.h"

#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

// One half-step feed-forward of a conformer block.
void add_half_step(Builder& b, const std::string& name, int64_t h, int64_t width) {
  tower_norm(b, name + ".pre_layer_norm", h, false);
  tower_linear(b, name + ".ffw_layer_1", width, h, false);
  tower_linear(b, name + ".ffw_layer_2", h, width, false);
  tower_norm(b, name + ".post_layer_norm", h, false);
}

}  // namespace

void add_gemma4_audio(Builder& b, const Fields& audio) {
  // The shape of both published E models; a config may say otherwise.
  const int64_t h = audio.extent_or({"hidden_size"}, 1024);
  const int64_t layers = audio.divisor_or({"num_hidden_layers", "conf_num_hidden_layers"}, 12);
  const int64_t heads = audio.divisor_or({"num_attention_heads", "conf_num_attention_heads"}, 8);
  const int64_t kernel = audio.divisor_or({"conv_kernel_size", "conf_conv_kernel_size"}, 5);
  const int64_t out = audio.extent_or({"output_proj_dims"}, 1536);
  const int64_t mel_bins = 128, first = 128, second = 32;
  begin_tower(b, "model.audio_tower.");
  b.set_part(Part::audio);
  b.add(Role::tower, "subsample_conv_projection.layer0.conv.weight", {first, 1, 3, 3});
  tower_norm(b, "subsample_conv_projection.layer0.norm", first, false);
  b.add(Role::tower, "subsample_conv_projection.layer1.conv.weight", {second, first, 3, 3});
  tower_norm(b, "subsample_conv_projection.layer1.norm", second, false);
  // Two convolutions of stride 2 leave a quarter of the mel bins in each channel.
  tower_linear(b, "subsample_conv_projection.input_proj_linear", h, second * mel_bins / 4, false);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string p = block_scope("layers.", i);
    add_half_step(b, p + "feed_forward1", h, 4 * h);
    tower_norm(b, p + "norm_pre_attn", h, false);
    for (const std::string_view name : {"q_proj", "k_proj", "v_proj", "relative_k_proj", "post"}) {
      tower_linear(b, p + "self_attn." + std::string(name), h, h, false);
    }
    b.add(Role::tower, p + "self_attn.per_dim_scale", {h / heads});
    tower_norm(b, p + "norm_post_attn", h, false);
    tower_norm(b, p + "lconv1d.pre_layer_norm", h, false);
    tower_linear(b, p + "lconv1d.linear_start", 2 * h, h, false);
    b.add(Role::tower, p + "lconv1d.depthwise_conv1d.weight", {h, 1, kernel});
    tower_norm(b, p + "lconv1d.conv_norm", h, false);
    tower_linear(b, p + "lconv1d.linear_end", h, h, false);
    add_half_step(b, p + "feed_forward2", h, 4 * h);
    tower_norm(b, p + "norm_out", h, false);
  }
  tower_linear(b, "output_proj", out, h, true);
  begin_projector(b, "model.embed_audio.");
  projector_linear(b, "embedding_projection", b.hidden(), out, false);
}

}  // namespace vramwise::model
