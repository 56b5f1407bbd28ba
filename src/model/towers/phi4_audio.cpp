// Source: microsoft/Phi-4-multimodal-instruct speech_conformer_encoder.py; transformers
// models/phi4_multimodal, whose names are shown.
#include "model/towers/phi4_audio.h"

#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

void add_half_step(Builder& b, const std::string& name, int64_t h, int64_t width) {
  tower_norm(b, name + ".layer_norm", h, true);
  tower_linear(b, name + ".gate_up_proj", 2 * width, h, true);
  tower_linear(b, name + ".down_proj", h, width, true);
}

void convolution(Builder& b, const std::string& name, Shape shape) {
  const int64_t out = shape[0];
  b.add(Role::tower, name + ".weight", shape);
  b.add(Role::tower, name + ".bias", {out});
}

}  // namespace

void add_phi4_audio(Builder& b, const Fields& audio, const std::string& scope) {
  const int64_t h = audio.extent_or({"hidden_size"}, 1024);
  const int64_t width = audio.extent_or({"intermediate_size"}, 1536);
  const int64_t blocks = audio.number({"num_blocks"}, 24, 1, kMaxLayers);
  const int64_t heads = audio.divisor_or({"num_attention_heads"}, 16);
  const int64_t bins =
      audio.divisor_or({"input_size"}, 80) / audio.divisor_or({"time_reduction"}, 8);
  const int64_t kernel = audio.divisor_or({"kernel_size"}, 3);
  begin_tower(b, scope + "encoder.");
  b.set_part(Part::audio);
  // Mean and spread of each mel bin.
  b.buffer(Role::tower, "encoder_embedding.global_mean", {audio.divisor_or({"input_size"}, 80)});
  b.buffer(Role::tower, "encoder_embedding.global_invstd", {audio.divisor_or({"input_size"}, 80)});
  convolution(b, "embed.conv.0", {h, 1, 3, 3});
  for (const std::string step : {"2", "5"}) {
    convolution(b, "embed.conv." + step, {h, 1, 3, 3});
    convolution(b, "embed.conv." + step + "p", {h, h, 1, 1});
  }
  tower_linear(b, "embed.out", h, h * bins, true);
  b.add(Role::tower, "relative_attention_bias_layer.bias_values.weight",
        {audio.divisor_or({"bias_max_distance"}, 1000), heads});
  for (int64_t i = 0; i < blocks && !b.failed(); ++i) {
    const std::string p = block_scope("encoders.", i);
    add_half_step(b, p + "feed_forward_in", h, width);
    for (const std::string_view name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
      tower_linear(b, p + "self_attn." + std::string(name), h, h, true);
    }
    tower_norm(b, p + "conv.layer_norm", h, true);
    convolution(b, p + "conv.glu.ext_pw_conv_1d", {2 * h, h, 1});
    b.add(Role::tower, p + "conv.glu.b1", {1, h, 1});
    b.add(Role::tower, p + "conv.glu.b2", {1, h, 1});
    convolution(b, p + "conv.dw_sep_conv_1d.dw_conv", {h, 1, kernel});
    convolution(b, p + "conv.dw_sep_conv_1d.pw_conv", {h, h, 1});
    convolution(b, p + "conv.ext_pw_conv_1d", {h, h, 1});
    add_half_step(b, p + "feed_forward_out", h, width);
    tower_norm(b, p + "layer_norm_att", h, true);
    tower_norm(b, p + "layer_norm", h, true);
  }
  begin_projector(b, scope + "audio_projection.");
  for (const std::string side : {"speech", "vision"}) {
    projector_linear(b, side + ".0", b.hidden(), h, true);
    projector_linear(b, side + ".2", b.hidden(), b.hidden(), true);
  }
}

}  // namespace vramwise::model
