// RWKV 5 (Eagle) and 7 (Goose): no attention; two shifted inputs and a square state per head.
// Source: RWKV/rwkv-5-world-3b modeling_rwkv5.py; fla-hub/rwkv7-2.9B-world
// (flash-linear-attention).
#include "model/arch_rule.h"
#include "model/builder.h"

namespace vramwise::model {
namespace {

void add_state(Builder& b, int64_t heads, int64_t dim) {
  b.recurrent(RwkvState{b.hidden(), heads, dim, 2});
}

void add_v5_layer(Builder& b, int64_t inner, int64_t heads, int64_t dim, int64_t width) {
  const int64_t h = b.hidden();
  for (const std::string name : {"time_decay", "time_faaaa"}) {
    b.add(Role::recurrent_parameter, "attention." + name, {heads, dim});
  }
  for (const std::string name : {"key", "value", "receptance", "gate"}) {
    b.add(Role::recurrent_parameter, "attention.time_mix_" + name, {1, 1, h});
    b.linear(Role::recurrent_in, "attention." + name, inner, h);
  }
  b.linear(Role::recurrent_out, "attention.output", h, inner);
  b.biased_norm("attention.ln_x", inner, Role::recurrent_norm);
  b.add(Role::recurrent_parameter, "feed_forward.time_mix_key", {1, 1, h});
  b.add(Role::recurrent_parameter, "feed_forward.time_mix_receptance", {1, 1, h});
  b.linear(Role::ffn_gate, "feed_forward.receptance", h, h);
  b.linear(Role::ffn_up, "feed_forward.key", width, h);
  b.linear(Role::ffn_down, "feed_forward.value", h, width);
  b.layer().feed_forward = DenseFeedForward{.width = width, .gated = false};
  add_state(b, heads, dim);
}

// Decay, learning rate, value mix and gate each come from a pair of narrow matrices.
void add_v7_layer(Builder& b, int64_t heads, int64_t dim, int64_t width, bool first) {
  const Fields& fields = b.text();
  const int64_t h = b.hidden(), inner = heads * dim;
  for (const std::string name : {"x_r", "x_w", "x_k", "x_v", "x_a", "x_g"}) {
    b.add(Role::recurrent_parameter, "attn." + name, {1, 1, h});
  }
  for (const std::string name : {"k_k", "k_a"}) {
    b.add(Role::recurrent_parameter, "attn." + name, {inner});
  }
  b.add(Role::recurrent_parameter, "attn.r_k", {heads, dim});
  for (const std::string name : {"r_proj", "k_proj", "v_proj"}) {
    b.linear(Role::recurrent_in, "attn." + name, inner, h);
  }
  b.linear(Role::recurrent_out, "attn.o_proj", h, inner);
  struct Narrow {
    std::string name;
    int64_t rank;
    bool bias;
  };
  std::vector<Narrow> pairs = {{"w_lora", fields.small_or({"decay_low_rank_dim"}, 64), true},
                               {"a_lora", fields.small_or({"a_low_rank_dim"}, 64), true},
                               {"g_lora", fields.small_or({"gate_low_rank_dim"}, 128), false}};
  if (!first) pairs.push_back({"v_lora", fields.small_or({"v_low_rank_dim"}, 32), true});
  for (const Narrow& pair : pairs) {
    b.linear(Role::recurrent_projection, "attn." + pair.name + ".lora.0", pair.rank, h);
    b.linear(Role::recurrent_projection, "attn." + pair.name + ".lora.2", inner, pair.rank,
             pair.bias);
  }
  b.biased_norm("attn.g_norm", inner, Role::recurrent_norm);
  b.add(Role::recurrent_parameter, "ffn.x_k", {h});
  b.linear(Role::ffn_up, "ffn.key", width, h);
  b.linear(Role::ffn_down, "ffn.value", h, width);
  b.layer().feed_forward = DenseFeedForward{.width = width, .gated = false};
  add_state(b, heads, dim);
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  const bool v7 = fields.text_or({"model_type"}, "") == "rwkv7";
  Builder b(fields, fields, {.gguf = v7 ? "rwkv7" : ""});
  // Version 5 keeps both matrices although its config says tied.
  b.model().tied_head = false;
  b.set_norm(NormKind::layer_norm_bias);
  const int64_t layers = fields.layers();
  const int64_t inner = fields.extent_or({"attention_hidden_size"}, b.hidden());
  const int64_t dim = fields.divisor_or({"head_size", "head_dim"}, 64);
  const int64_t heads = fields.divide(inner, "attention_hidden_size", dim, "head_size");
  const int64_t fallback = v7 ? 4 * b.hidden() : int64_t(3.5 * double(b.hidden())) / 32 * 32;
  int64_t width = fields.extent_or({"intermediate_size"}, 0);
  if (width == 0) width = fallback;
  const std::string list = v7 ? "model.layers." : "rwkv.blocks.";
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer(list, i);
    if (i == 0) b.norm(v7 ? "pre_norm" : "pre_ln");
    b.pre_norms(v7 ? "attn_norm" : "ln1", v7 ? "ffn_norm" : "ln2");
    if (v7) {
      add_v7_layer(b, heads, dim, width, i == 0);
    } else {
      add_v5_layer(b, inner, heads, dim, width);
    }
  }
  b.end_layers(v7 ? "model." : "rwkv.");
  b.embedding("embeddings");
  b.norm(v7 ? "norm" : "ln_out");
  b.head(v7 ? "lm_head" : "head");
  fields.notes().warn("tensors_unverified",
                      "the tensors of RWKV met no published total: weights may be off slightly");
  return b.finish();
}

constexpr std::string_view kTypes[] = {"rwkv5", "rwkv7"};
constexpr std::string_view kClasses[] = {"RWKV7ForCausalLM"};

}  // namespace

const ArchRule& arch_rwkv() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
