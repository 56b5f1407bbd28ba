// Gemma 4: wide heads on global layers (whose values may be the key projection), shared caches and
// per-layer embeddings in the small ones, experts beside a dense MLP in the 26B-A4B, no towers but
// single matrices in the unified 12B.
// Source: transformers models/gemma4/modeling_gemma4.py.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/builder.h"
#include "model/gemma_parts.h"
#include "model/towers/gemma4_audio.h"
#include "model/towers/gemma4_unified.h"
#include "model/towers/gemma4_vision.h"

namespace vramwise::model {
namespace {

// Checkpoints keep the key and value weights of layers that read another layer's cache; no module
// creates them.
void add_attention(Builder& b, const AttentionBlock& a) {
  const int64_t q = a.query_heads * a.key_dim, k = a.kv_heads * a.key_dim;
  b.linear(Role::query, "self_attn.q_proj", q, b.hidden());
  b.linear(Role::attention_output, "self_attn.o_proj", b.hidden(), q);
  b.weight_norm("self_attn.q_norm", a.key_dim, Role::query_norm);
  if (a.shared_with >= 0) b.set_part(Part::stored_unused);
  b.linear(Role::key, "self_attn.k_proj", k, b.hidden());
  if (!a.value_is_key) b.linear(Role::value, "self_attn.v_proj", k, b.hidden());
  b.weight_norm("self_attn.k_norm", a.key_dim, Role::key_norm);
  b.set_part(Part::text);
  b.layer().mixers.push_back(a);
  b.cache(cache_of(a));
}

void add_experts(Builder& b, const MoeFeedForward& moe) {
  const int64_t e = moe.experts, h = b.hidden();
  b.linear(Role::router, "router.proj", e, h);
  b.add(Role::norm, "router.scale", {h});
  b.add(Role::norm, "router.per_expert_scale", {e});
  b.add(Role::expert_fused_gate_up, "experts.gate_up_proj", {e, 2 * moe.width, h});
  b.add(Role::expert_down, "experts.down_proj", {e, h, moe.width});
  for (const std::string_view name :
       {"post_feedforward_layernorm_1", "post_feedforward_layernorm_2",
        "pre_feedforward_layernorm_2"}) {
    b.norm(name);
  }
  b.layer().feed_forward = moe;
}

bool is_unified(const Fields& top) {
  return starts_with(top.text_or({"model_type"}, ""), "gemma4_unified");
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const Fields text = top.text();
  const auto vision = top.section({"vision_config"});
  Builder b(top, text, {.tied = true, .positions = 131072, .gguf = "gemma4"});
  b.model().embedding_scaled = true;
  b.model().gguf.rope_freqs = true;
  b.model().logit_softcap = text.real({"final_logit_softcapping"}, 30, 0, 1e6) > 0;
  const int64_t layers = text.layers();
  const int64_t heads = text.small({"num_attention_heads"});
  const int64_t dim = text.divisor_or({"head_dim"}, 256);
  const int64_t global_dim = text.divisor_or({"global_head_dim"}, 512);
  const int64_t kv = text.divisor_or({"num_key_value_heads"}, heads);
  const bool value_is_key = text.flag({"attention_k_eq_v"}, false);
  const int64_t global_kv = value_is_key ? text.divisor_or({"num_global_key_value_heads"}, kv) : kv;
  const int64_t window = text.extent_or({"sliding_window"}, 1024);
  const int64_t width = text.extent({"intermediate_size"});
  const int64_t per_layer = text.small_or({"hidden_size_per_layer_input"}, 0);
  const bool wide = text.flag({"use_double_wide_mlp"}, false);
  std::vector<std::string> types = layer_types(text, layers, 6);
  if (!text.has({"layer_types"})) types.back() = "full_attention";
  const std::vector<int64_t> owner =
      cache_owners(types, text.number({"num_kv_shared_layers"}, 0, 0, kMaxLayers));
  MoeFeedForward moe;
  if (text.flag({"enable_moe_block"}, false)) {
    moe.experts = text.required({"num_experts"}, 1, kMaxExperts);
    moe.active = text.required({"top_k_experts", "num_experts_per_tok"}, 1, kMaxExperts);
    moe.width = text.extent({"moe_intermediate_size"});
    moe.dense_width = width;
    moe.scale_weights = true;
  }
  const std::string stem = top.section({"text_config"}) ? "model.language_model." : "model.";
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer(stem + "layers.", i);
    const bool full = types[size_t(i)] == "full_attention";
    const bool owns = owner[size_t(i)] == i;
    AttentionBlock block;
    block.query_heads = heads;
    block.kv_heads = full ? global_kv : kv;
    block.key_dim = block.value_dim = full ? global_dim : dim;
    block.qk_norm = QkNorm::per_head;
    block.value_is_key = full && value_is_key;
    block.window = full ? 0 : window;
    block.shared_with = owns ? -1 : owner[size_t(i)];
    add_attention(b, block);
    b.gated_mlp(wide && !owns ? 2 * width : width);
    b.sandwich_norms();
    if (moe.experts > 0) add_experts(b, moe);
    if (per_layer > 0) {
      b.linear(Role::per_layer_projection, "per_layer_input_gate", per_layer, b.hidden());
      b.linear(Role::per_layer_projection, "per_layer_projection", b.hidden(), per_layer);
      b.norm("post_per_layer_input_norm");
    }
    b.buffer(Role::residual_scale, "layer_scalar", {1});
  }
  b.end_layers(stem);
  if (per_layer > 0) {
    b.add(
        Role::per_layer_embedding, "embed_tokens_per_layer.weight",
        {text.extent_or({"vocab_size_per_layer_input"}, b.model().vocab_size), layers * per_layer});
    b.linear(Role::per_layer_projection, "per_layer_model_projection", layers * per_layer,
             b.hidden());
    b.weight_norm("per_layer_projection_norm", per_layer);
  }
  b.embedding();
  b.norm("norm");
  b.head();
  // Both tables have the whole head's width, whatever share of it turns.
  for (const int64_t rotary : {dim, global_dim}) {
    RopeScaling rope;
    add_rope_table(text, b.model(), rotary, rope);
  }
  if (is_unified(top)) {
    // Its generation_config.json names the ends of images and sounds, which the converter copies.
    // Source: ggml-org/llama.cpp conversion/gemma.py, Gemma4UnifiedModel.
    b.model().gguf.suppresses_tokens = true;
    if (vision) add_gemma4_unified_vision(b, *vision);
    if (top.has({"audio_config"})) add_gemma4_unified_audio(b, top.nested({"audio_config"}));
    return b.finish();
  }
  if (vision) add_gemma4_vision(b, *vision);
  if (top.has({"audio_config"})) add_gemma4_audio(b, top.nested({"audio_config"}));
  return b.finish();
}

constexpr std::string_view kTypes[] = {"gemma4", "gemma4_text", "gemma4_unified",
                                       "gemma4_unified_text"};
constexpr std::string_view kClasses[] = {"Gemma4ForConditionalGeneration", "Gemma4ForCausalLM",
                                         "Gemma4UnifiedForConditionalGeneration"};

}  // namespace

const ArchRule& arch_gemma4() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
