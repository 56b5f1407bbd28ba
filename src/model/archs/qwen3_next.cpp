// Qwen3-Next, Qwen3.5 and 3.6 (dense and with experts): gated delta nets in three of four layers,
// gated attention in the fourth. Qwen3.8-Flash-Next keeps a compressed index beside its attention.
// Source: transformers models/qwen3_next, models/qwen3_5, models/qwen3_5_moe.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/qwen_parts.h"
#include "model/towers/qwen_vision.h"

namespace vramwise::model {
namespace {

struct Parts {
  AttentionBlock attention;
  GatedDeltaSpec delta;
  std::vector<bool> sparse;  // layers with experts
  bool experts = false;
};

Parts read_parts(const Fields& text, bool fused, std::optional<DType> state_dtype) {
  const Heads heads = read_heads(text, {.head_dim = 256});
  Parts parts;
  AttentionBlock& a = parts.attention;
  a.query_heads = heads.query;
  a.kv_heads = heads.kv;
  a.key_dim = a.value_dim = heads.dim;
  a.qkv_bias = a.output_bias = text.flag({"attention_bias"}, false);
  a.qk_norm = QkNorm::per_head;
  a.output_gate = text.flag({"attn_output_gate"}, true);
  parts.delta.fused = fused;
  parts.delta.state = {.key_heads = text.small({"linear_num_key_heads"}),
                       .value_heads = text.small({"linear_num_value_heads"}),
                       .key_dim = text.small({"linear_key_head_dim"}),
                       .value_dim = text.small({"linear_value_head_dim"}),
                       .conv_kernel = text.divisor_or({"linear_conv_kernel_dim"}, 4),
                       .state_dtype = state_dtype};
  parts.sparse = qwen_sparse_layers(text, text.layers());
  parts.experts = text.experts_or({"num_experts"}, 0) > 0;
  return parts;
}

void add_feed_forward(Builder& b, bool experts) {
  if (experts) {
    MoeFeedForward moe = qwen_experts(b.text(), true);
    moe.normalise_weights = b.text().flag({"norm_topk_prob"}, true);
    b.moe(moe, {.shared = "mlp.shared_expert."});
  } else {
    b.gated_mlp(b.text().extent({"intermediate_size"}));
  }
}

void add_mtp(Builder& b, const Parts& parts, int64_t count) {
  for (int64_t i = 0; i < count && !b.failed(); ++i) {
    b.begin_mtp_layer("mtp.layers." + format_integer(i) + ".");
    b.attention(parts.attention);
    add_feed_forward(b, parts.experts);
    b.pre_norms("input_layernorm", "post_attention_layernorm");
    if (i > 0) continue;
    b.set_scope("mtp.");
    b.linear(Role::mtp_projection, "fc", b.hidden(), 2 * b.hidden());
    for (const std::string_view name : {"norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden"}) {
      b.norm(name);
    }
  }
}

// What Qwen3.8-Flash-Next keeps beside keys and values. One llama.cpp fork allocates 384 values a
// token and layer; the config names an index key of 128 of them. What the rest holds is not
// published.
void add_index_caches(Builder& b, const Fields& text, const std::vector<std::string>& types) {
  const auto marked = text.any_integers({"ple_layer_ids"});
  for (size_t i = 0; i < types.size() && i < b.model().layers.size(); ++i) {
    if (types[i] != "linear_attention") b.model().layers[i].caches.push_back(IndexerKeys{384});
  }
  if (!marked.empty() && size_t(marked.front()) < b.model().layers.size()) {
    b.model().layers[size_t(marked.front())].caches.push_back(
        ShortConvState{30720, text.divisor_or({"ple_conv_kernel_size"}, 4)});
  }
  text.notes().warn("cache_unverified",
                    "the index cache of this model was measured in one build only: 384 values a "
                    "token and layer");
  text.notes().warn(
      "tensors_unverified",
      "indexer, n-gram embedding and hyper-connections of this model are not counted");
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const Fields text = top.text();
  const auto vision = top.section({"vision_config"});
  const std::string type = top.text_or({"model_type"}, "");
  const bool next = type == "qwen3_next";
  const bool flash = starts_with(type, "qwen4_exp");
  const bool experts = text.experts_or({"num_experts"}, 0) > 0;
  Builder b(top, text,
            {.positions = 262144,
             .gguf = next      ? "qwen3next"
                     : flash   ? ""
                     : experts ? "qwen35moe"
                               : "qwen35"});
  // Qwen3-Next leaves the type of its state to the engine, Qwen3.5 demands one.
  const Parts parts =
      read_parts(text, next, next ? std::nullopt : demanded_dtype(text, {"mamba_ssm_dtype"}));
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
    add_feed_forward(b, parts.sparse[size_t(i)]);
    b.pre_norms("input_layernorm", "post_attention_layernorm");
  }
  // Qwen3-Next ships one such layer and does not say so.
  add_mtp(b, parts, next ? 1 : text.number({"mtp_num_hidden_layers"}, 1, 0, 100));
  if (flash) add_index_caches(b, text, types);
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

constexpr std::string_view kTypes[] = {"qwen3_next",    "qwen3_5",          "qwen3_5_text",
                                       "qwen3_5_moe",   "qwen3_5_moe_text", "qwen4_exp",
                                       "qwen4_exp_text"};
constexpr std::string_view kClasses[] = {"Qwen3NextForCausalLM", "Qwen3_5ForConditionalGeneration",
                                         "Qwen3_5MoeForConditionalGeneration", "Qwen3_5ForCausalLM",
                                         "Qwen3_5MoeForCausalLM"};

}  // namespace

const ArchRule& arch_qwen3_next() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
