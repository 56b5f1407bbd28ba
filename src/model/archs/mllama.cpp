// Llama 3.2 Vision: cross-attention layers between the others read the image's tokens, not the
// text's. Source: transformers models/mllama/modeling_mllama.py.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/llama_like.h"
#include "model/plain_attention.h"
#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

void add_tower(Builder& b, const Fields& vision) {
  const int64_t h = vision.extent({"hidden_size"});
  const int64_t width = vision.extent({"intermediate_size"});
  const int64_t patch = vision.small({"patch_size"});
  const int64_t side = vision.small({"image_size"}) / patch;
  const int64_t patches = side * side + 1;
  const int64_t tiles = vision.required({"max_num_tiles"}, 1, 1024);
  int64_t ratios = 8;  // ways to tile an image, plus one for "no image"
  if (const auto list = vision.reader().find({"supported_aspect_ratios"})) {
    ratios = int64_t(list->value().as_array().size());
  }
  begin_tower(b, "vision_model.");
  b.add(Role::tower, "class_embedding", {h});
  b.add(Role::tower, "patch_embedding.weight", {h, 3, patch, patch});
  b.add(Role::tower, "gated_positional_embedding.gate", {1});
  b.add(Role::tower, "gated_positional_embedding.embedding", {patches, h});
  b.add(Role::tower, "gated_positional_embedding.tile_embedding.weight",
        {ratios + 1, tiles * patches * h});
  for (const std::string when : {"pre", "post"}) {
    b.add(Role::tower, when + "_tile_positional_embedding.gate", {1});
    b.add(Role::tower, when + "_tile_positional_embedding.embedding.weight",
          {ratios + 1, tiles * h});
    tower_norm(b, "layernorm_" + when, h, true);
  }
  const int64_t local = vision.layers(), global = vision.layers({"num_global_layers"});
  ClipLayers spec{.list = "transformer.layers.",
                  .layers = local,
                  .hidden = h,
                  .width = width,
                  .output = "o_proj",
                  .norm1 = "input_layernorm",
                  .norm2 = "post_attention_layernorm",
                  .attention_bias = false};
  add_clip_layers(b, spec);
  spec.list = "global_transformer.layers.";
  spec.layers = global;
  add_clip_layers(b, spec);
  for (int64_t i = 0; i < global && !b.failed(); ++i) {
    b.add(Role::tower, block_scope("global_transformer.layers.", i) + "gate_attn", {1});
    b.add(Role::tower, block_scope("global_transformer.layers.", i) + "gate_ffn", {1});
  }
  begin_projector(b, "");
  projector_linear(b, "multi_modal_projector", b.hidden(), vision.extent({"vision_output_dim"}),
                   true);
  describe_tower(b, h, width, saturating_add(local, global));
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const Fields text = top.text();
  const auto vision = top.section({"vision_config"});
  Builder b(top, text, {.positions = 131072, .gguf = "mllama"});
  const Heads heads = read_heads(text);
  const int64_t layers = text.layers();
  const int64_t width = text.extent({"intermediate_size"});
  std::vector<bool> crosses(size_t(layers), false);
  for (const int64_t i : text.any_integers({"cross_attention_layers"})) {
    if (i < layers) crosses[size_t(i)] = true;
  }
  const std::string prefix = vision ? "language_model." : "";
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer(prefix + "model.layers.", i);
    AttentionBlock block = plain_attention(heads);
    if (crosses[size_t(i)]) {
      // Its keys and values come from the image; a text-only sequence keeps none.
      block.qk_norm = QkNorm::per_head;
      block.rope = false;
      b.attention_tensors(block, {.scope = "cross_attn."});
      b.layer().mixers.push_back(block);
      b.add(Role::residual_scale, "cross_attn_attn_gate", {1});
      b.add(Role::residual_scale, "cross_attn_mlp_gate", {1});
    } else {
      b.attention(block);
    }
    b.gated_mlp(width);
    b.pre_norms("input_layernorm", "post_attention_layernorm");
  }
  b.end_layers(prefix + "model.");
  // Eight rows more than the head has: the image token and padding.
  b.model().gguf.vocab_rows = b.model().vocab_size + 8;
  b.embedding("embed_tokens", b.model().vocab_size + 8);
  b.norm("norm");
  b.head(prefix + "lm_head");
  add_rope_table(text, b.model(), heads.dim);
  text.notes().assume("image_tokens_left_out",
                      "cross-attention layers keep the tokens of an image (1,601 a tile), none for "
                      "text alone");
  if (vision) add_tower(b, *vision);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"mllama", "mllama_text_model"};
constexpr std::string_view kClasses[] = {"MllamaForConditionalGeneration", "MllamaForCausalLM"};

}  // namespace

const ArchRule& arch_mllama() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
