// Molmo (a CLIP without its last layer) and Molmo 2 (a SigLIP 2 up to the last layer that is read):
// patches of two layers are pooled by an attention, then a gated matrix into the language model.
// Source: allenai/Molmo-7B-D-0924 modeling_molmo.py, allenai/Molmo2-8B modeling_molmo2.py, vllm
// model_executor/models/molmo.py, molmo2.py.
#include <algorithm>

#include "model/arch_rule.h"
#include "model/llama_like.h"
#include "model/towers/tower.h"
#include "model/wrapped.h"

namespace vramwise::model {
namespace {

constexpr int64_t kNewWords = 128;    // embeddings for the tokens of images
constexpr int64_t kTappedLayers = 2;  // of the tower, side by side

struct Tower {
  int64_t hidden = 1024, width = 4096, layers = 23, positions = 577, patch = 14;
  bool clip = true;  // a class embedding, a norm before the blocks, patches without bias
};

void add_attention(Builder& b, const std::string& scope, int64_t in, int64_t out) {
  for (const std::string_view name : {"wq", "wk", "wv"}) {
    tower_linear(b, scope + std::string(name), out, in, true);
  }
  tower_linear(b, scope + "wo", out, out, true);
}

// Rows of their own for the tokens that mark images: not a part of the vocabulary's table.
void add_new_words(Builder& b, int64_t rows) {
  begin_projector(b, "model.transformer.");
  b.add(Role::projector, "wte.new_embedding", {rows, b.hidden()});
}

// `width` of the gated matrix between the pooled patches and the language model.
void add_backbone(Builder& b, const Tower& t, int64_t pooled, int64_t width) {
  begin_tower(b, "model.vision_backbone.image_vit.");
  if (t.clip) {
    b.add(Role::tower, "class_embedding", {t.hidden});
    tower_norm(b, "pre_ln", t.hidden, true);
  }
  b.add(Role::tower, "positional_embedding", {t.positions, t.hidden});
  tower_linear(b, "patch_embedding", t.hidden, 3 * t.patch * t.patch, !t.clip);
  for (int64_t i = 0; i < t.layers && !b.failed(); ++i) {
    const std::string block = block_scope("transformer.resblocks.", i);
    add_attention(b, block + "attention.", t.hidden, t.hidden);
    tower_linear(b, block + "feed_forward.w1", t.width, t.hidden, true);
    tower_linear(b, block + "feed_forward.w2", t.hidden, t.width, true);
    tower_norm(b, block + "attention_norm", t.hidden, true);
    tower_norm(b, block + "ffn_norm", t.hidden, true);
  }
  describe_tower(b, t.hidden, t.width, t.layers);
  begin_projector(b, "model.vision_backbone.");
  if (t.clip) b.add(Role::projector, "pad_embed", {2, kTappedLayers * t.hidden});
  for (const std::string_view name : {"wq", "wk", "wv"}) {
    projector_linear(b, "image_pooling_2d." + std::string(name), pooled, kTappedLayers * t.hidden,
                     true);
  }
  projector_linear(b, "image_pooling_2d.wo", pooled, pooled, true);
  projector_linear(b, "image_projector.w1", width, pooled, false);
  projector_linear(b, "image_projector.w3", width, pooled, false);
  projector_linear(b, "image_projector.w2", b.hidden(), width, false);
}

LlamaLike language_model() {
  LlamaLike options;
  options.fused = true;
  options.stem = "model.transformer.";
  options.layer_list = "blocks.";
  options.attention_norm = "attn_norm";
  options.ffn_norm = "ff_norm";
  options.embedding = "wte.embedding";
  options.final_norm = "ln_f";
  return options;
}

Result<Model> build_first(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 2048});
  // Rows of the table, of which some stand for no word.
  const int64_t rows = fields.extent_or({"embedding_size"}, 0);
  if (rows > 0) b.model().vocab_size = rows;
  const int64_t width = fields.divide(fields.extent({"intermediate_size"}), "intermediate_size", 2,
                                      "the halves of a gated matrix");
  LlamaLike options = language_model();
  options.qkv_bias = fields.flag({"qkv_bias"}, false);
  if (fields.flag({"attention_layer_norm"}, false)) options.qk_norm = QkNorm::full_width;
  options.head = "model.transformer.ff_out";
  options.attention_names = {.scope = "", .o = "attn_out", .fused = "att_proj"};
  options.mlp_names = {.scope = "", .down = "ff_out", .fused = "ff_proj"};
  options.feed_forward = [&](int64_t) {
    b.fused_mlp(width, options.mlp_names);
    return true;
  };
  add_llama_like(b, options);
  add_new_words(b, kNewWords);
  const Tower tower;
  add_backbone(b, tower, tower.hidden, width);
  return b.finish();
}

// Layers up to the last one that the adapter reads; counted from the end where negative.
int64_t read_layers(const Fields& adapter, int64_t layers) {
  const auto list = adapter.reader().find({"vit_layers"});
  int64_t deepest = -3;
  if (list && list->value().is_array() && !list->value().as_array().empty()) {
    deepest = -layers;
    for (const json::Value& layer : list->value().as_array()) {
      if (!layer.is_integer()) continue;
      const int64_t given = std::clamp(layer.as_integer(), -layers, layers - 1);
      deepest = std::max(deepest, given < 0 ? given : given - layers);
    }
  }
  return std::clamp<int64_t>(layers + deepest + 1, 1, layers);
}

Result<Model> build_second(const json::Reader& config) {
  const Fields top(config);
  const Fields text = top.text();
  Builder b(top, text, {.positions = 4096});
  LlamaLike options = language_model();
  options.heads = {.kv_heads = 4, .head_dim = 128};
  options.qkv_bias = text.flag({"qkv_bias"}, true);
  if (text.flag({"use_qk_norm"}, false)) {
    const bool by_head = text.text_or({"qk_norm_type"}, "olmo") == "qwen3";
    options.qk_norm = by_head ? QkNorm::per_head : QkNorm::full_width;
  }
  options.attention_names = {.scope = "self_attn.", .o = "attn_out", .fused = "att_proj"};
  options.mlp_names = {.down = "ff_out", .fused = "ff_proj"};
  add_llama_like(b, options);
  add_new_words(b, text.extent_or({"additional_vocab_size"}, kNewWords));
  if (const auto vision = top.section({"vit_config"})) {
    Tower tower;
    tower.clip = false;
    tower.hidden = vision->extent_or({"hidden_size"}, 1152);
    tower.width = vision->extent_or({"intermediate_size"}, 4304);
    tower.positions = vision->extent_or({"image_num_pos"}, 577);
    tower.patch = vision->divisor_or({"image_patch_size"}, 14);
    const Fields adapter = section_of(top, "adapter_config", Absent::empty);
    tower.layers = read_layers(adapter, vision->number({"num_hidden_layers"}, 27, 1, kMaxLayers));
    add_backbone(b, tower, adapter.extent_or({"hidden_size"}, 1152),
                 adapter.extent_or({"intermediate_size"}, 18944));
  }
  return b.finish();
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  return fields.section({"text_config"}) ? build_second(config) : build_first(config);
}

constexpr std::string_view kTypes[] = {"molmo", "molmo2"};
constexpr std::string_view kClasses[] = {"MolmoForCausalLM", "Molmo2ForConditionalGeneration"};

}  // namespace

const ArchRule& arch_molmo() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
