// Command-R, Aya, Command-R7B, Command-A: one norm and attention beside the MLP.
// Source: transformers models/cohere, models/cohere2.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  const std::string type = fields.text_or({"model_type"}, "cohere2");
  const bool slides = type != "cohere";
  const bool experts = type == "cohere2_moe";
  Builder b(fields, fields,
            {.tied = true, .positions = 8192, .gguf = slides ? "cohere2" : "command-r"});
  const bool qk_norm = !slides && fields.flag({"use_qk_norm"}, false);
  const int64_t window = fields.extent_or({"sliding_window"}, 4096);
  const std::vector<std::string> types =
      layer_types(fields, fields.layers(), fields.small_or({"sliding_window_pattern"}, 4));
  LlamaLike options;
  options.qkv_bias = options.output_bias = fields.flag({"attention_bias"}, false);
  options.norms = NormPlan::parallel;
  options.norm_kind = NormKind::layer_norm;
  options.attention = [&](int64_t i, AttentionBlock& block) {
    if (slides) {
      block.rope = types[size_t(i)] == "sliding_attention";
      if (block.rope) block.window = window;
    }
    if (qk_norm) {
      // A LayerNorm per head, each with weights of its own.
      b.add(Role::query_norm, "self_attn.q_norm.weight", {block.query_heads, block.key_dim});
      b.add(Role::key_norm, "self_attn.k_norm.weight", {block.kv_heads, block.key_dim});
    }
  };
  MoeFeedForward moe;
  if (experts) {
    moe.experts = fields.required({"num_experts", "num_local_experts"}, 1, kMaxExperts);
    moe.active = fields.required({"num_experts_per_tok"}, 1, kMaxExperts);
    moe.width = fields.extent({"moe_intermediate_size", "intermediate_size"});
    moe.shared_width = moe.width * fields.experts_or({"num_shared_experts", "n_shared_experts"}, 0);
    options.feed_forward = [&](int64_t i) {
      if (i < fields.number({"first_k_dense_replace"}, 0, 0, kMaxLayers)) return false;
      b.moe(moe);
      return true;
    };
    fields.notes().warn("tensors_unverified",
                        "the tensors of cohere2_moe follow kindred models; no published total has "
                        "been met with them");
  }
  add_llama_like(b, options);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"cohere", "cohere2", "cohere2_moe"};
constexpr std::string_view kClasses[] = {"CohereForCausalLM", "Cohere2ForCausalLM"};

}  // namespace

const ArchRule& arch_cohere() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
