// Source: transformers models/whisper, models/qwen2_audio, models/qwen2_5_omni,
// models/qwen3_omni_moe.
#include "model/towers/whisper_encoder.h"

#include <utility>

#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

struct EncoderShape {
  int64_t hidden, width, layers, mel_bins;
};

EncoderShape read_shape(const Fields& audio) {
  const Fields large = audio.with_defaults({{"d_model", 1280},
                                            {"encoder_ffn_dim", 5120},
                                            {"encoder_layers", 32},
                                            {"num_mel_bins", 128}});
  return {.hidden = large.extent({"hidden_size", "d_model"}),
          .width = large.extent({"intermediate_size", "encoder_ffn_dim"}),
          .layers = large.layers({"encoder_layers", "num_hidden_layers"}),
          .mel_bins = large.small({"num_mel_bins"})};
}

void begin_audio(Builder& b, std::string scope) {
  begin_tower(b, std::move(scope));
  b.set_part(Part::audio);
}

void add_layers(Builder& b, const EncoderShape& shape, bool key_bias) {
  const int64_t h = shape.hidden;
  for (int64_t i = 0; i < shape.layers && !b.failed(); ++i) {
    const std::string p = block_scope("layers.", i);
    tower_linear(b, p + "self_attn.q_proj", h, h, true);
    tower_linear(b, p + "self_attn.k_proj", h, h, key_bias);
    tower_linear(b, p + "self_attn.v_proj", h, h, true);
    tower_linear(b, p + "self_attn.out_proj", h, h, true);
    tower_norm(b, p + "self_attn_layer_norm", h, true);
    tower_linear(b, p + "fc1", shape.width, h, true);
    tower_linear(b, p + "fc2", h, shape.width, true);
    tower_norm(b, p + "final_layer_norm", h, true);
  }
}

}  // namespace

int64_t add_whisper_encoder(Builder& b, const Fields& audio, const WhisperEncoderSpec& spec) {
  const EncoderShape shape = read_shape(audio);
  const int64_t h = shape.hidden;
  begin_audio(b, spec.scope);
  b.add(Role::tower, "conv1.weight", {h, shape.mel_bins, 3});
  b.add(Role::tower, "conv1.bias", {h});
  b.add(Role::tower, "conv2.weight", {h, h, 3});
  b.add(Role::tower, "conv2.bias", {h});
  if (spec.stored_positions) {
    b.add(Role::tower, "embed_positions.weight",
          {audio.divisor_or({"max_source_positions"}, 1500), h});
  }
  add_layers(b, shape, false);
  tower_norm(b, spec.last_norm, h, true);
  return h;
}

void add_qwen3_omni_audio(Builder& b, const Fields& audio, std::string scope) {
  const EncoderShape shape = read_shape(audio);
  const int64_t h = shape.hidden;
  const int64_t channels = audio.divisor_or({"downsample_hidden_size"}, 480);
  // Three steps of stride 2, each rounded up, leave so many bins.
  const int64_t bins = ceil_div(shape.mel_bins, 8);
  begin_audio(b, std::move(scope));
  int64_t from = 1;
  for (const std::string name : {"conv2d1", "conv2d2", "conv2d3"}) {
    b.add(Role::tower, name + ".weight", {channels, from, 3, 3});
    b.add(Role::tower, name + ".bias", {channels});
    from = channels;
  }
  tower_linear(b, "conv_out", h, channels * bins, false);
  add_layers(b, shape, true);
  tower_norm(b, "ln_post", h, true);
  tower_linear(b, "proj1", h, h, true);
  tower_linear(b, "proj2", audio.extent_or({"output_dim"}, b.hidden()), h, true);
}

}  // namespace vramwise::model
