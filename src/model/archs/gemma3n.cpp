// Gemma 3n E2B and E4B: per-layer embeddings, several residual streams (AltUp), and the last layers
// read the cache of an earlier one although their key and value weights exist. Source: transformers
// models/gemma3n/modeling_gemma3n.py.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/builder.h"
#include "model/gemma_parts.h"
#include "model/plain_attention.h"
#include "model/towers/gemma3n_audio.h"
#include "model/towers/mobilenet_v5.h"
#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

void add_layer_extras(Builder& b, int64_t streams, int64_t laurel, int64_t per_layer) {
  const int64_t h = b.hidden();
  b.norm("post_per_layer_input_norm");
  b.norm("laurel.post_laurel_norm");
  b.norm("altup.router_norm");
  b.linear(Role::residual_scale, "laurel.linear_left", laurel, h);
  b.linear(Role::residual_scale, "laurel.linear_right", h, laurel);
  b.add(Role::residual_scale, "altup.correct_output_scale", {h});
  b.linear(Role::residual_scale, "altup.correction_coefs", streams, streams);
  b.linear(Role::residual_scale, "altup.prediction_coefs", streams * streams, streams);
  b.linear(Role::residual_scale, "altup.modality_router", streams, h);
  b.linear(Role::per_layer_projection, "per_layer_input_gate", per_layer, h);
  b.linear(Role::per_layer_projection, "per_layer_projection", h, per_layer);
}

// What turns the features of a tower, and the few tokens of its own, into the text model's width.
void add_embedder(Builder& b, std::string scope, int64_t width, int64_t tokens) {
  begin_projector(b, std::move(scope));
  b.add(Role::projector, "embedding.weight", {tokens, width});
  b.weight_norm("hard_embedding_norm", width, Role::projector);
  b.weight_norm("soft_embedding_norm", width, Role::projector);
  projector_linear(b, "embedding_projection", b.hidden(), width, false);
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const Fields text = top.text();
  Builder b(top, text, {.tied = true, .positions = 32768, .gguf = "gemma3n"});
  b.model().embedding_scaled = true;
  b.model().logit_softcap = text.real({"final_logit_softcapping"}, 30, 0, 1e6) > 0;
  const Heads heads = read_heads(text, {.kv_heads = 2, .head_dim = 256});
  const int64_t layers = text.layers();
  const int64_t per_layer = text.small_or({"hidden_size_per_layer_input"}, 256);
  const int64_t laurel = text.small_or({"laurel_rank"}, 64);
  const int64_t streams = text.required({"altup_num_inputs"}, 1, 64);
  const std::vector<int64_t> width = text.per_layer({"intermediate_size"}, layers, 16384);
  const std::vector<std::string> types = layer_types(text, layers, 5);
  const int64_t window = text.extent_or({"sliding_window"}, 512);
  const std::vector<int64_t> owner =
      cache_owners(types, text.number({"num_kv_shared_layers"}, 15, 0, kMaxLayers));
  const std::string stem = "model.language_model.";
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer(stem + "layers.", i);
    AttentionBlock block = plain_attention(heads);
    block.qk_norm = QkNorm::per_head;
    if (types[size_t(i)] == "sliding_attention") block.window = window;
    if (owner[size_t(i)] != i) block.shared_with = owner[size_t(i)];
    b.attention(block);
    b.gated_mlp(width[size_t(i)]);
    b.sandwich_norms();
    add_layer_extras(b, streams, laurel, per_layer);
  }
  b.end_layers(stem);
  b.add(Role::per_layer_embedding, "embed_tokens_per_layer.weight",
        {text.extent_or({"vocab_size_per_layer_input"}, 262144), layers * per_layer});
  b.linear(Role::per_layer_projection, "per_layer_model_projection", layers * per_layer,
           b.hidden());
  b.weight_norm("per_layer_projection_norm", per_layer);
  for (int64_t i = 0; i + 1 < streams; ++i) {
    const std::string n = format_integer(i);
    b.linear(Role::residual_scale, "altup_projections." + n, b.hidden(), b.hidden());
    b.linear(Role::residual_scale, "altup_unembed_projections." + n, b.hidden(), b.hidden());
  }
  b.embedding();
  b.norm("norm");
  b.head();
  add_gemma3_ropes(b, heads.dim);
  drop_untokenised_rows(b);
  if (top.has({"vision_config"})) {
    add_mobilenet_v5(b, "model.vision_tower.timm_model.");
    // The network has no ViT's widths; these are those of its last step.
    describe_tower(b, kMobileNetV5Channels, 2 * (640 + 1280), 84);
    add_embedder(b, "model.embed_vision.", kMobileNetV5Channels,
                 top.nested({"vision_config"}).extent_or({"vocab_size"}, 128));
  }
  if (top.has({"audio_config"})) {
    const Fields audio = top.nested({"audio_config"});
    const int64_t width = add_gemma3n_audio(b, audio);
    add_embedder(b, "model.embed_audio.", width, audio.extent_or({"vocab_size"}, 128));
  }
  return b.finish();
}

constexpr std::string_view kTypes[] = {"gemma3n", "gemma3n_text"};
constexpr std::string_view kClasses[] = {"Gemma3nForConditionalGeneration", "Gemma3nForCausalLM"};

}  // namespace

const ArchRule& arch_gemma3n() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
