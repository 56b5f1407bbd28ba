// Granite 3 (a Llama with multipliers), Granite MoE, and Granite 4 (Mamba-2 layers with few
// attention layers, and a shared MLP beside the experts). Source: transformers models/granite,
// models/granitemoe, models/granitemoehybrid.
#include "model/arch_rule.h"
#include "model/llama_like.h"
#include "model/mamba_parts.h"
#include "model/plain_attention.h"

namespace vramwise::model {
namespace {

// Experts are stored fused: [experts, 2 * width, hidden] and [experts, hidden, width].
void add_experts(Builder& b, const MoeFeedForward& moe) {
  b.linear(Role::router, "block_sparse_moe.router.layer", moe.experts, b.hidden());
  b.add(Role::expert_fused_gate_up, "block_sparse_moe.input_linear.weight",
        {moe.experts, 2 * moe.width, b.hidden()});
  b.add(Role::expert_down, "block_sparse_moe.output_linear.weight",
        {moe.experts, b.hidden(), moe.width});
}

MoeFeedForward read_experts(const Fields& fields) {
  MoeFeedForward moe;
  moe.experts = fields.experts_or({"num_local_experts"}, 0);
  moe.active = fields.experts_or({"num_experts_per_tok"}, 0);
  moe.width = moe.experts > 0 ? fields.extent({"intermediate_size"}) : 0;
  moe.gating = RouterGating::softmax_after_selection;
  moe.normalise_weights = false;
  return moe;
}

Result<Model> build_plain(const Fields& fields, bool experts) {
  Builder b(fields, fields, {.positions = 2048, .gguf = experts ? "granitemoe" : "granite"});
  b.model().embedding_scaled = fields.has({"embedding_multiplier"});
  LlamaLike options;
  options.qkv_bias = options.output_bias = fields.flag({"attention_bias"}, false);
  options.mlp_bias = fields.flag({"mlp_bias"}, false);
  const MoeFeedForward moe = read_experts(fields);
  if (experts && moe.experts > 0) {
    options.feed_forward = [&](int64_t) {
      add_experts(b, moe);
      b.layer().feed_forward = moe;
      return true;
    };
  }
  add_llama_like(b, options);
  return b.finish();
}

Result<Model> build_hybrid(const Fields& fields) {
  Builder b(fields, fields, {.positions = 2048, .gguf = "granitehybrid"});
  b.model().embedding_scaled = fields.has({"embedding_multiplier"});
  const int64_t layers = fields.layers();
  const std::vector<std::string> types = layer_types(fields, layers, 0, "attention", "mamba");
  const Heads heads = read_heads(fields);
  const Mamba2Spec mamba = read_mamba2_prefixed(fields);
  const bool bias = fields.flag({"attention_bias"}, false);
  MoeFeedForward moe = read_experts(fields);
  const int64_t shared = fields.extent({"shared_intermediate_size"});
  bool any_rope = fields.text_or({"position_embedding_type"}, "nope") == "rope";
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("model.layers.", i);
    if (types[size_t(i)] == "attention") {
      AttentionBlock block = plain_attention(heads);
      block.qkv_bias = block.output_bias = bias;
      block.rope = any_rope;
      b.attention(block);
    } else {
      b.mamba2(mamba, "mamba.");
    }
    if (moe.experts > 0) {
      add_experts(b, moe);
      b.linear(Role::shared_expert_fused_gate_up, "shared_mlp.input_linear", 2 * shared,
               b.hidden());
      b.linear(Role::shared_expert_down, "shared_mlp.output_linear", b.hidden(), shared);
      moe.shared_width = shared;
      b.layer().feed_forward = moe;
    } else {
      b.fused_mlp(shared,
                  {.scope = "shared_mlp.", .down = "output_linear", .fused = "input_linear"});
    }
    b.pre_norms("input_layernorm", "post_attention_layernorm");
  }
  b.end_layers("model.");
  b.embedding();
  b.norm("norm");
  b.head();
  if (any_rope) add_rope_table(fields, b.model(), heads.dim);
  return b.finish();
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  const std::string type = fields.text_or({"model_type"}, "granite");
  if (type == "granitemoehybrid") return build_hybrid(fields);
  return build_plain(fields, type == "granitemoe");
}

constexpr std::string_view kTypes[] = {"granite", "granitemoe", "granitemoehybrid"};
constexpr std::string_view kClasses[] = {"GraniteForCausalLM", "GraniteMoeForCausalLM",
                                         "GraniteMoeHybridForCausalLM"};

}  // namespace

const ArchRule& arch_granite() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
