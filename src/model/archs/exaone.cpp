// EXAONE 3.x (a Llama under other names), 4.0 and 4.5 (three sliding layers, then one that reads
// all without rotary), and K-EXAONE (the same with experts). Source: transformers models/exaone4;
// LGAI-EXAONE/EXAONE-3.5-7.8B-Instruct modeling_exaone.py; LGAI-EXAONE/K-EXAONE-236B-A23B README.
#include <array>

#include "base/text.h"
#include "model/arch_rule.h"
#include "model/llama_like.h"
#include "model/plain_attention.h"
#include "model/towers/qwen_vision.h"

namespace vramwise::model {
namespace {

Result<Model> build_v3(const Fields& fields) {
  Builder b(fields, fields, {.positions = 2048, .gguf = "exaone"});
  LlamaLike options;
  options.stem = "transformer.";
  options.layer_list = "h.";
  options.attention_names = {.scope = "attn.attention.", .o = "out_proj"};
  options.mlp_names = {.gate = "c_fc_0", .up = "c_fc_1", .down = "c_proj"};
  options.attention_norm = "ln_1";
  options.ffn_norm = "ln_2";
  options.embedding = "wte";
  options.final_norm = "ln_f";
  add_llama_like(b, options);
  return b.finish();
}

// The pattern is a period or letters, a layer each: LLLG is four layers, the last reads everything.
std::vector<bool> sliding_layers(const Fields& text, int64_t layers, bool any) {
  const auto pattern = text.reader().find({"sliding_window_pattern"});
  const int64_t every = pattern && pattern->value().is_string()
                            ? int64_t(pattern->value().as_string().size())
                            : text.small_or({"sliding_window_pattern"}, 4);
  const std::vector<std::string> types = layer_types(text, layers, every);
  std::vector<bool> sliding;
  for (const std::string& type : types) sliding.push_back(any && type == "sliding_attention");
  return sliding;
}

// Both families store dense layers for multi-token prediction, which share embedding and head with
// the trunk. K-EXAONE norms before attention and MLP, EXAONE 4.5 after them as its trunk does.
struct PredictionNames {
  std::string_view attention_norm, ffn_norm;
  std::array<std::string_view, 3> norms;
  std::string_view projection;
};
constexpr PredictionNames kPrediction = {
    "input_layernorm", "post_attention_layernorm", {"enorm", "hnorm", "norm"}, "eh_proj"};
constexpr PredictionNames kPrediction45 = {"post_attention_layernorm",
                                           "post_feedforward_layernorm",
                                           {"pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm"},
                                           "fc"};

void add_mtp(Builder& b, const Heads& heads, int64_t count, const PredictionNames& names) {
  for (int64_t i = 0; i < count && !b.failed(); ++i) {
    b.begin_mtp_layer("mtp.layers." + format_integer(i) + ".");
    AttentionBlock block = plain_attention(heads);
    block.qk_norm = QkNorm::per_head;
    b.attention(block);
    b.gated_mlp(b.text().extent({"intermediate_size"}));
    b.pre_norms(names.attention_norm, names.ffn_norm);
    for (const std::string_view name : names.norms) b.norm(name);
    b.linear(Role::mtp_projection, names.projection, b.hidden(), 2 * b.hidden());
  }
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const Fields text = top.text();
  const std::string type = text.text_or({"model_type"}, top.text_or({"model_type"}, ""));
  if (type == "exaone") return build_v3(text);
  const bool experts = type == "exaone_moe";
  Builder b(top, text, {.positions = 2048, .gguf = experts ? "exaone-moe" : "exaone4"});
  const int64_t window = text.extent_or({"sliding_window"}, 0);
  const int64_t layers = text.layers();
  const std::vector<bool> sliding = sliding_layers(text, layers, window > 0);
  LlamaLike options;
  options.qk_norm = QkNorm::per_head;
  options.norms = experts ? NormPlan::pre : NormPlan::post;
  options.attention = [&](int64_t i, AttentionBlock& block) {
    if (sliding[size_t(i)]) block.window = window;
    // Without a window every layer has rotary.
    block.rope = sliding[size_t(i)] || window == 0;
  };
  if (top.section({"text_config"})) options.stem = "model.language_model.";
  MoeFeedForward moe;
  const int64_t dense = text.number({"first_k_dense_replace"}, 1, 0, kMaxLayers);
  if (experts) {
    moe.experts = text.required({"num_experts", "n_routed_experts"}, 1, kMaxExperts);
    moe.active = text.required({"num_experts_per_tok"}, 1, kMaxExperts);
    moe.width = text.extent({"moe_intermediate_size"});
    moe.shared_width = moe.width * text.experts_or({"num_shared_experts", "n_shared_experts"}, 1);
    moe.correction_bias = true;
    moe.gating = RouterGating::sigmoid;
    options.feed_forward = [&](int64_t i) {
      if (i < dense) return false;
      b.moe(moe);
      return true;
    };
  }
  const Heads heads = add_llama_like(b, options);
  const int64_t mtp = text.number({"num_nextn_predict_layers"}, 0, 0, 100);
  if (experts) {
    add_mtp(b, heads, mtp, kPrediction);
  } else {
    add_mtp(b, heads, mtp, kPrediction45);
  }
  if (const auto vision = top.section({"vision_config"})) {
    add_qwen2_5_vision(b, *vision, "model.visual.");
  }
  return b.finish();
}

constexpr std::string_view kTypes[] = {"exaone", "exaone4", "exaone4_5", "exaone4_5_text",
                                       "exaone_moe"};
constexpr std::string_view kClasses[] = {"ExaoneForCausalLM", "Exaone4ForCausalLM"};

}  // namespace

const ArchRule& arch_exaone() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
