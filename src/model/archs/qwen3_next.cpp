// Qwen3-Next, Qwen3.5 and 3.6 (dense and with experts): gated delta nets in three of four layers,
// gated attention in the fourth.
// Source: transformers models/qwen3_next, models/qwen3_5, models/qwen3_5_moe.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/qwen_parts.h"
#include "model/towers/qwen_vision.h"

namespace vramwise::model {
namespace {

void add_mtp(Builder& b, const HybridParts& parts, int64_t count) {
  for (int64_t i = 0; i < count && !b.failed(); ++i) {
    b.begin_mtp_layer("mtp.layers." + format_integer(i) + ".");
    b.attention(parts.attention);
    add_hybrid_feed_forward(b, parts.experts);
    b.pre_norms("input_layernorm", "post_attention_layernorm");
    if (i > 0) continue;
    b.set_scope("mtp.");
    b.linear(Role::mtp_projection, "fc", b.hidden(), 2 * b.hidden());
    for (const std::string_view name : {"norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden"}) {
      b.norm(name);
    }
  }
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const Fields text = top.text();
  const auto vision = top.section({"vision_config"});
  const std::string type = top.text_or({"model_type"}, "");
  const bool next = type == "qwen3_next";
  const bool experts = text.experts_or({"num_experts"}, 0) > 0;
  Builder b(top, text,
            {.positions = 262144,
             .gguf = next      ? "qwen3next"
                     : experts ? "qwen35moe"
                               : "qwen35"});
  // Qwen3-Next leaves the type of its state to the engine, Qwen3.5 demands one.
  const HybridParts parts = read_hybrid_parts(
      text, next, next ? std::nullopt : demanded_dtype(text, {"mamba_ssm_dtype"}));
  const int64_t layers = text.layers();
  const std::vector<std::string> types =
      layer_types(text, layers, text.small_or({"full_attention_interval"}, 4), "full_attention",
                  "linear_attention");
  const bool wrapped = top.section({"text_config"}).has_value();
  const std::string stem = wrapped ? "model.language_model." : "model.";
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer(stem + "layers.", i);
    if (types[size_t(i)] == "linear_attention") {
      b.gated_delta(parts.delta, "linear_attn.");
    } else {
      b.attention(parts.attention);
    }
    add_hybrid_feed_forward(b, parts.sparse[size_t(i)]);
    b.pre_norms("input_layernorm", "post_attention_layernorm");
  }
  // Qwen3-Next ships one such layer and does not say so.
  add_mtp(b, parts, text.number({"mtp_num_hidden_layers"}, 1, 0, 100));
  b.end_layers(stem);
  b.embedding();
  b.norm("norm");
  b.head();
  RopeScaling rope = read_rope_scaling(text, "full_attention", 0.25);
  // Qwen3.5's class has an mrope_section of its own where the config leaves rope_parameters out.
  if (!next && !text.has({"rope_parameters"}) && !text.has({"rope_scaling"}))
    rope.multimodal = true;
  add_rope_table(text, b.model(), parts.attention.key_dim, rope);
  if (vision) add_qwen3_vision(b, *vision);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe",
                                       "qwen3_5_moe_text"};
constexpr std::string_view kClasses[] = {"Qwen3NextForCausalLM", "Qwen3_5ForConditionalGeneration",
                                         "Qwen3_5MoeForConditionalGeneration", "Qwen3_5ForCausalLM",
                                         "Qwen3_5MoeForCausalLM"};

}  // namespace

const ArchRule& arch_qwen3_next() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
