// Small models and llama-shaped ones for the tests of this folder, made without a config.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"
#include "json/parse.h"
#include "model/model.h"

namespace vramwise::weights::testing {

struct LlamaShape {
  int64_t layers, hidden, ffn, query_heads, kv_heads, head_dim, vocab;
  bool tied = false;
};

inline constexpr LlamaShape kLlama70b = {80, 8192, 28672, 64, 8, 128, 128256};
inline constexpr LlamaShape kTiny = {2, 256, 512, 4, 2, 64, 1024};

inline void add(model::Model& m, std::string name, model::Shape shape, model::Role role,
                int32_t layer = -1, model::Part part = model::Part::text, int64_t copies = 1) {
  model::Tensor t;
  t.name = std::move(name);
  t.shape = shape;
  t.role = role;
  t.layer = layer;
  t.part = part;
  t.copies = copies;
  m.tensors.push_back(std::move(t));
}

// The tensors of LlamaForCausalLM, or of Mixtral's kind when `experts` > 0.
inline model::Model llama(const LlamaShape& s, int64_t experts = 0) {
  using model::Role;
  model::Model m;
  m.architecture = "LlamaForCausalLM";
  m.gguf.architecture = "llama";
  m.hidden_size = s.hidden;
  m.vocab_size = s.vocab;
  m.tied_head = s.tied;
  const int64_t q = s.query_heads * s.head_dim, kv = s.kv_heads * s.head_dim;
  for (int32_t i = 0; i < s.layers; ++i) {
    model::Layer layer;
    model::AttentionBlock attention;
    attention.query_heads = s.query_heads;
    attention.kv_heads = s.kv_heads;
    attention.key_dim = attention.value_dim = s.head_dim;
    layer.mixers.push_back(attention);
    const std::string p = "model.layers." + format_integer(i) + ".";
    add(m, p + "self_attn.q_proj.weight", {q, s.hidden}, Role::query, i);
    add(m, p + "self_attn.k_proj.weight", {kv, s.hidden}, Role::key, i);
    add(m, p + "self_attn.v_proj.weight", {kv, s.hidden}, Role::value, i);
    add(m, p + "self_attn.o_proj.weight", {s.hidden, q}, Role::attention_output, i);
    if (experts > 0) {
      model::MoeFeedForward moe;
      moe.experts = experts;
      moe.active = 2;
      moe.width = s.ffn;
      layer.feed_forward = moe;
      const auto part = model::Part::text;
      add(m, p + "mlp.gate.weight", {experts, s.hidden}, Role::router, i);
      const std::string e = p + "mlp.experts.{e}.";
      add(m, e + "gate_proj.weight", {s.ffn, s.hidden}, Role::expert_gate, i, part, experts);
      add(m, e + "up_proj.weight", {s.ffn, s.hidden}, Role::expert_up, i, part, experts);
      add(m, e + "down_proj.weight", {s.hidden, s.ffn}, Role::expert_down, i, part, experts);
    } else {
      model::DenseFeedForward mlp;
      mlp.width = s.ffn;
      layer.feed_forward = mlp;
      add(m, p + "mlp.gate_proj.weight", {s.ffn, s.hidden}, Role::ffn_gate, i);
      add(m, p + "mlp.up_proj.weight", {s.ffn, s.hidden}, Role::ffn_up, i);
      add(m, p + "mlp.down_proj.weight", {s.hidden, s.ffn}, Role::ffn_down, i);
    }
    add(m, p + "input_layernorm.weight", {s.hidden}, Role::norm, i);
    add(m, p + "post_attention_layernorm.weight", {s.hidden}, Role::norm, i);
    m.layers.push_back(std::move(layer));
  }
  add(m, "model.embed_tokens.weight", {s.vocab, s.hidden}, Role::token_embedding);
  add(m, "model.norm.weight", {s.hidden}, Role::norm);
  add(m, "lm_head.weight", {s.vocab, s.hidden}, Role::output_head, -1,
      s.tied ? model::Part::tied_head : model::Part::head);
  return m;
}

// The model with a quantization_config of this text.
inline model::Model with_config(model::Model m, std::string_view text) {
  auto parsed = json::parse(text, "quantization_config");
  if (parsed) m.quantization_config = std::move(*parsed);
  return m;
}

}  // namespace vramwise::weights::testing
