// OLMo 2 and 3 (norms behind attention and MLP, queries and keys normalised over their full width)
// and OLMoE, whose intermediate_size is the width of one expert. Source: transformers models/olmo2,
// models/olmo3, models/olmoe.
#include "model/arch_rule.h"
#include "model/llama_like.h"

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

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  const std::string type = fields.text_or({"model_type"}, "olmo2");
  if (type == "olmoe") return build_olmoe(fields);
  Builder b(fields, fields, {.positions = 2048, .gguf = "olmo2"});
  LlamaLike options;
  options.qk_norm = QkNorm::full_width;
  options.norms = NormPlan::post;
  options.qkv_bias = options.output_bias = fields.flag({"attention_bias"}, false);
  const int64_t window = type == "olmo3" ? fields.extent_or({"sliding_window"}, 4096) : 0;
  const std::vector<std::string> types = layer_types(fields, fields.layers(), 4);
  options.attention = [&](int64_t i, AttentionBlock& block) {
    if (types[size_t(i)] == "sliding_attention") block.window = window;
  };
  add_llama_like(b, options);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"olmo2", "olmo3", "olmoe"};
constexpr std::string_view kClasses[] = {"Olmo2ForCausalLM", "Olmo3ForCausalLM",
                                         "OlmoeForCausalLM"};

}  // namespace

const ArchRule& arch_olmo() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
