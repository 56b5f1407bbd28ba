// Whisper: an encoder of 1,500 positions; each decoder layer attends to its own tokens and, with
// keys and values that never grow, to the encoder's output. Keys have no bias. Source: transformers
// models/whisper/modeling_whisper.py.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/builder.h"

namespace vramwise::model {
namespace {

void add_projections(Builder& b, const std::string& scope) {
  const int64_t d = b.hidden();
  b.linear(Role::key, scope + "k_proj", d, d);
  b.linear(Role::value, scope + "v_proj", d, d, true);
  b.linear(Role::query, scope + "q_proj", d, d, true);
  b.linear(Role::attention_output, scope + "out_proj", d, d, true);
}

void add_encoder(Builder& b, const Fields& fields, int64_t layers, int64_t positions) {
  const int64_t d = b.hidden();
  const int64_t width = fields.extent({"encoder_ffn_dim"});
  b.end_layers("model.encoder.");
  b.add(Role::other, "conv1.weight", {d, fields.small({"num_mel_bins"}), 3});
  b.add(Role::other, "conv1.bias", {d});
  b.add(Role::other, "conv2.weight", {d, d, 3});
  b.add(Role::other, "conv2.bias", {d});
  b.add(Role::position_embedding, "embed_positions.weight", {positions, d});
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.set_scope("model.encoder.layers." + format_integer(i) + ".");
    add_projections(b, "self_attn.");
    b.norm("self_attn_layer_norm");
    b.linear(Role::ffn_up, "fc1", width, d, true);
    b.linear(Role::ffn_down, "fc2", d, width, true);
    b.norm("final_layer_norm");
  }
  b.end_layers("model.encoder.");
  b.norm("layer_norm");
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.tied = true, .positions = 448});
  const int64_t heads = fields.divisor_or({"decoder_attention_heads"}, 6);
  const int64_t dim = fields.divide(b.hidden(), "d_model", heads, "decoder_attention_heads");
  const int64_t encoder_layers = fields.layers({"encoder_layers"});
  const int64_t sounds = fields.extent_or({"max_source_positions"}, 1500);
  const int64_t targets = fields.extent_or({"max_target_positions"}, 448);
  const int64_t layers = fields.layers({"decoder_layers"});
  const int64_t width = fields.extent({"decoder_ffn_dim"});
  b.model().encoder_layers = encoder_layers;
  b.model().max_positions = targets;
  b.set_norm(NormKind::layer_norm_bias);
  AttentionBlock block;
  block.query_heads = block.kv_heads = heads;
  block.key_dim = block.value_dim = dim;
  block.qkv_bias = block.output_bias = true;
  block.rope = false;
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("model.decoder.layers.", i);
    add_projections(b, "self_attn.");
    add_projections(b, "encoder_attn.");
    b.layer().mixers = {block, block};
    b.cache(FullAttention{heads, dim, dim});
    b.cache(CrossAttention{heads, dim, sounds});
    b.norm("self_attn_layer_norm");
    b.norm("encoder_attn_layer_norm");
    b.plain_mlp(width, "fc1", "fc2", true);
    b.norm("final_layer_norm");
  }
  b.end_layers("model.decoder.");
  b.embedding("embed_tokens");
  b.add(Role::position_embedding, "embed_positions.weight", {targets, b.hidden()});
  b.norm("layer_norm");
  b.head("proj_out");
  add_encoder(b, fields, encoder_layers, sounds);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"whisper"};
constexpr std::string_view kClasses[] = {"WhisperForConditionalGeneration"};

}  // namespace

const ArchRule& arch_whisper() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
