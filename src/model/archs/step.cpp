// Step 3.5 and 3.7: a gate per head, sliding layers with head counts of their own, experts stored
// fused. Source: stepfun-ai/Step-3.5-Flash modeling_step3p5.py; the MTP layers are those of its
// checkpoint.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/llama_like.h"
#include "model/towers/perception_encoder.h"

namespace vramwise::model {
namespace {

// "3,4,5,…"
std::vector<bool> expert_layers(const Fields& text, int64_t layers) {
  std::vector<bool> experts(size_t(layers), false);
  const std::string listed = text.text_or({"moe_layers_enum"}, "");
  if (listed.empty()) {
    const int64_t dense = text.number({"first_k_dense_replace"}, 3, 0, kMaxLayers);
    for (int64_t i = dense; i < layers; ++i) experts[size_t(i)] = true;
  }
  for (const std::string_view part : split(listed, ',')) {
    const auto i = parse_integer(trim(part));
    if (i && *i >= 0 && *i < layers) experts[size_t(*i)] = true;
  }
  return experts;
}

struct Shapes {
  AttentionBlock full, sliding;
  bool gate = true;
};

Shapes read_shapes(const Fields& text) {
  const Heads heads = read_heads(text);
  Shapes shapes;
  shapes.gate = text.flag({"use_head_wise_attn_gate"}, true);
  shapes.full.query_heads = heads.query;
  shapes.full.kv_heads = heads.kv;
  shapes.full.key_dim = shapes.full.value_dim = heads.dim;
  shapes.full.qk_norm = QkNorm::per_head;
  shapes.sliding = shapes.full;
  shapes.sliding.window = text.extent_or({"sliding_window"}, 512);
  if (const auto other = text.section({"attention_other_setting"})) {
    shapes.sliding.query_heads = other->divisor_or({"num_attention_heads"}, heads.query);
    shapes.sliding.kv_heads =
        other->divisor_or({"num_attention_groups", "num_key_value_heads"}, heads.kv);
    shapes.sliding.key_dim = shapes.sliding.value_dim = other->divisor_or({"head_dim"}, heads.dim);
  }
  return shapes;
}

void add_attention(Builder& b, const AttentionBlock& block, bool gate) {
  b.attention(block);
  if (gate) b.linear(Role::attention_gate, "self_attn.g_proj", block.query_heads, b.hidden());
}

void add_experts(Builder& b, const MoeFeedForward& moe) {
  b.linear(Role::router, "moe.gate", moe.experts, b.hidden());
  if (moe.correction_bias) {
    b.buffer(Role::router_correction_bias, "moe.router_bias", {moe.experts}, DType::float32);
  }
  b.add(Role::expert_gate, "moe.gate_proj.weight", {moe.experts, moe.width, b.hidden()});
  b.add(Role::expert_up, "moe.up_proj.weight", {moe.experts, moe.width, b.hidden()});
  b.add(Role::expert_down, "moe.down_proj.weight", {moe.experts, b.hidden(), moe.width});
  b.gated_tensors(Role::shared_expert_gate, Role::shared_expert_up, Role::shared_expert_down,
                  "share_expert.", moe.shared_width, "gate_proj", "up_proj", "down_proj");
  b.layer().feed_forward = moe;
}

void add_mtp(Builder& b, int64_t index, const Shapes& shapes, int64_t width) {
  b.begin_mtp_layer("model.layers." + format_integer(index) + ".");
  add_attention(b, shapes.sliding, true);
  b.gated_mlp(width);
  b.pre_norms("input_layernorm", "post_attention_layernorm");
  b.norm("enorm");
  b.norm("hnorm");
  b.norm("transformer.shared_head.norm");
  b.linear(Role::mtp_projection, "eh_proj", b.hidden(), 2 * b.hidden());
  b.add(Role::output_head, "transformer.shared_head.output.weight",
        {b.model().vocab_size, b.hidden()});
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const Fields text = top.text();
  Builder b(top, text, {.positions = 262144, .gguf = "step35"});
  const Shapes shapes = read_shapes(text);
  const int64_t layers = text.layers();
  const std::vector<std::string> types = text.names({"layer_types"}, layers);
  const std::vector<bool> experts = expert_layers(text, layers);
  const int64_t width = text.extent({"intermediate_size"});
  MoeFeedForward moe;
  moe.experts = text.required({"moe_num_experts", "num_experts"}, 1, kMaxExperts);
  moe.active = text.required({"moe_top_k", "num_experts_per_tok"}, 1, kMaxExperts);
  moe.width = text.extent({"moe_intermediate_size"});
  moe.shared_width = text.extent_or({"share_expert_dim"}, moe.width);
  moe.correction_bias = text.flag({"use_moe_router_bias"}, true);
  moe.gating = RouterGating::sigmoid;
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("model.layers.", i);
    const bool slides = types.empty() ? i % 4 != 0 : types[size_t(i)] == "sliding_attention";
    add_attention(b, slides ? shapes.sliding : shapes.full, shapes.gate);
    if (experts[size_t(i)]) {
      add_experts(b, moe);
    } else {
      b.gated_mlp(width);
    }
    b.pre_norms("input_layernorm", "post_attention_layernorm");
  }
  const int64_t mtp = text.number({"num_nextn_predict_layers"}, 0, 0, 100);
  for (int64_t i = 0; i < mtp && !b.failed(); ++i) add_mtp(b, layers + i, shapes, width);
  b.end_layers("model.");
  b.embedding();
  b.norm("norm");
  b.head();
  add_rope_table(text, b.model(), shapes.full.key_dim);
  if (const auto vision = top.section({"vision_config"})) add_perception_encoder(b, top, *vision);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"step3p5", "step3p7", "step3p7_text"};
constexpr std::string_view kClasses[] = {"Step3p5ForCausalLM"};

}  // namespace

const ArchRule& arch_step() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
