// OLMo 2 and 3 (norms behind attention and MLP, queries and keys normalised over their full width)
// and OLMoE, whose intermediate_size is the width of one expert; FlexOlmo, an OLMo 2 of experts;
// OLMo 1, whose norms have no weights. Source: transformers models/olmo, models/olmo2,
// models/olmo3, models/olmoe, models/flex_olmo.
#include "model/arch_rule.h"
#include "model/llama_like.h"
#include "model/plain_attention.h"

namespace vramwise::model {
namespace {

Result<Model> build_olmoe(const Fields& fields) {
  Builder b(fields, fields, {.positions = 4096, .gguf = "olmoe"});
  MoeFeedForward moe;
  moe.experts = fields.experts_or({"num_experts"}, 64);
  moe.active = fields.experts_or({"num_experts_per_tok"}, 8);
  moe.width = fields.extent({"intermediate_size"});
  moe.normalise_weights = fields.flag({"norm_topk_prob"}, false);
  LlamaLike options;
  options.qk_norm = QkNorm::full_width;
  options.feed_forward = [&](int64_t) {
    b.moe(moe);
    return true;
  };
  add_llama_like(b, options);
  return b.finish();
}

Result<Model> build_first(const Fields& fields) {
  Builder b(fields, fields, {.positions = 2048, .gguf = "olmo"});
  const Heads heads = read_heads(fields);
  const bool bias = fields.flag({"attention_bias"}, false);
  b.set_norm(NormKind::layer_norm);
  for (int64_t i = 0; i < fields.layers() && !b.failed(); ++i) {
    b.begin_layer("model.layers.", i);
    AttentionBlock block = plain_attention(heads);
    block.qkv_bias = block.output_bias = bias;
    b.attention(block);
    b.gated_mlp(fields.extent({"intermediate_size"}));
  }
  b.end_layers("model.");
  b.embedding();
  b.head();
  add_rope_table(fields, b.model(), heads.dim);
  return b.finish();
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  const std::string type = fields.text_or({"model_type"}, "olmo2");
  if (type == "olmoe") return build_olmoe(fields);
  if (type == "olmo") return build_first(fields);
  const bool flex = type == "flex_olmo";
  Builder b(fields, fields, {.positions = flex ? 4096 : 2048, .gguf = flex ? "" : "olmo2"});
  LlamaLike options;
  options.qk_norm = QkNorm::full_width;
  options.norms = NormPlan::post;
  options.qkv_bias = options.output_bias = fields.flag({"attention_bias"}, false);
  const int64_t window = type == "olmo3" ? fields.extent_or({"sliding_window"}, 4096) : 0;
  const std::vector<std::string> types = layer_types(fields, fields.layers(), 4);
  options.attention = [&](int64_t i, AttentionBlock& block) {
    if (types[size_t(i)] == "sliding_attention") block.window = window;
  };
  MoeFeedForward moe;
  if (flex) {
    moe.experts = fields.experts_or({"num_experts"}, 7);
    moe.active = fields.experts_or({"num_experts_per_tok"}, 5);
    moe.width = fields.extent({"intermediate_size"});
    moe.normalise_weights = fields.flag({"norm_topk_prob"}, false);
    options.feed_forward = [&](int64_t) {
      b.moe(moe);
      return true;
    };
  }
  add_llama_like(b, options);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"olmo", "flex_olmo", "olmo2", "olmo3", "olmoe"};
constexpr std::string_view kClasses[] = {"OlmoForCausalLM", "FlexOlmoForCausalLM",
                                         "Olmo2ForCausalLM", "Olmo3ForCausalLM",
                                         "OlmoeForCausalLM"};

}  // namespace

const ArchRule& arch_olmo() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
