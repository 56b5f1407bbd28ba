// Gemma 1, 2 and 3, the latter with its SigLIP tower.
// Source: transformers models/gemma, models/gemma2, models/gemma3.
#include <algorithm>

#include "model/arch_rule.h"
#include "model/gemma_parts.h"
#include "model/llama_like.h"
#include "model/towers/siglip.h"
#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

Result<Model> build_gemma(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.tied = true, .positions = 8192, .gguf = "gemma"});
  b.model().embedding_scaled = true;
  LlamaLike options;
  options.heads.head_dim = 256;
  options.qkv_bias = options.output_bias = fields.flag({"attention_bias"}, false);
  options.attention = [](int64_t, AttentionBlock& block) { block.query_scaled = true; };
  add_llama_like(b, options);
  return b.finish();
}

Result<Model> build_gemma2(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.tied = true, .positions = 8192, .gguf = "gemma2"});
  b.model().embedding_scaled = true;
  b.model().logit_softcap = fields.real({"final_logit_softcapping"}, 30, 0, 1e6) > 0;
  const bool score_cap = fields.real({"attn_logit_softcapping"}, 50, 0, 1e6) > 0;
  const int64_t window = fields.extent_or({"sliding_window"}, 4096);
  LlamaLike options;
  options.heads = {.kv_heads = 4, .head_dim = 256};
  options.norms = NormPlan::sandwich;
  options.attention = [&](int64_t i, AttentionBlock& block) {
    block.query_scaled = true;
    block.score_softcap = score_cap;
    if (i % 2 == 0) block.window = window;
  };
  add_llama_like(b, options);
  return b.finish();
}

Result<Model> build_gemma3(const json::Reader& config) {
  const Fields top(config);
  // A config that wraps the text model leaves out what the text class takes anyway.
  const Fields text = top.text().with_defaults({{"vocab_size", 262208},
                                                {"hidden_size", 2304},
                                                {"intermediate_size", 9216},
                                                {"num_hidden_layers", 26},
                                                {"num_attention_heads", 8}});
  const auto vision = top.section({"vision_config"});
  Builder b(top, text, {.tied = true, .positions = 131072, .gguf = "gemma3"});
  b.model().max_positions = text.extent_or({"max_position_embeddings"}, 131072);
  b.model().embedding_scaled = true;
  const int64_t window = text.extent_or({"sliding_window"}, 4096);
  const int64_t every = text.small_or({"sliding_window_pattern", "_sliding_window_pattern"}, 6);
  const std::vector<std::string> types = layer_types(text, text.layers(), every);
  LlamaLike options;
  options.heads = {.kv_heads = 4, .head_dim = 256};
  options.qk_norm = QkNorm::per_head;
  options.norms = NormPlan::sandwich;
  options.rope_table = false;
  options.attention = [&](int64_t i, AttentionBlock& block) {
    block.query_scaled = true;
    if (types[size_t(i)] == "sliding_attention") block.window = window;
  };
  if (vision) {
    options.stem = "language_model.model.";
    options.head = "language_model.lm_head";
  }
  const Heads heads = add_llama_like(b, options);
  add_gemma3_ropes(b, heads.dim);
  drop_untokenised_rows(b);
  // EmbeddingGemma reads the whole input at once and keeps nothing.
  const auto both_ways = text.reader().find({"use_bidirectional_attention"});
  if (both_ways && both_ways->value().as_boolean()) {
    b.model().is_encoder_only = true;
    b.model().gguf.architecture = "gemma-embedding";
    for (Layer& layer : b.model().layers) layer.caches.clear();
  }
  if (vision) {
    const int64_t h = add_siglip(b, *vision, {.scope = "vision_tower.vision_model."});
    // Every image is scaled to one size and pooled to so many tokens.
    const int64_t tokens = top.extent_or({"mm_tokens_per_image"}, 256);
    const int64_t side = vision->small({"image_size"}) / vision->small({"patch_size"});
    describe_items(b, tokens, side * side / std::max<int64_t>(1, tokens));
    // Start and end of the image, and an empty line on either side.
    if (b.model().vision) b.model().vision->framing_tokens = 4;
    begin_projector(b, "multi_modal_projector.");
    // Stored [in, out]: it is a parameter, not an nn.Linear.
    b.add(Role::projector, "mm_input_projection_weight", {h, b.hidden()});
    b.weight_norm("mm_soft_emb_norm", h, Role::projector);
  }
  return b.finish();
}

Result<Model> build(const json::Reader& config) {
  const std::string type = Fields(config).text_or({"model_type"}, "gemma3");
  if (type == "gemma") return build_gemma(config);
  if (type == "gemma2") return build_gemma2(config);
  return build_gemma3(config);
}

constexpr std::string_view kTypes[] = {"gemma", "gemma2", "gemma3", "gemma3_text"};
constexpr std::string_view kClasses[] = {"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"};

}  // namespace

const ArchRule& arch_gemma() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
