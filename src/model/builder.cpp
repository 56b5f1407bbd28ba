#include "model/builder.h"

#include <utility>

#include "base/text.h"

namespace vramwise::model {
namespace {

int64_t times(int64_t a, int64_t b) { return saturating_multiply(a, b); }

Role bias_of(Role role) {
  switch (role) {
    case Role::query: return Role::query_bias;
    case Role::key: return Role::key_bias;
    case Role::value: return Role::value_bias;
    case Role::fused_qkv: return Role::fused_qkv_bias;
    case Role::attention_output: return Role::attention_output_bias;
    case Role::query_down: return Role::query_down_bias;
    case Role::kv_down: return Role::kv_down_bias;
    case Role::ffn_gate: return Role::ffn_gate_bias;
    case Role::ffn_up: return Role::ffn_up_bias;
    case Role::ffn_down: return Role::ffn_down_bias;
    case Role::ffn_fused_gate_up: return Role::ffn_fused_gate_up_bias;
    case Role::router: return Role::router_bias;
    case Role::expert_gate: return Role::expert_gate_bias;
    case Role::expert_up: return Role::expert_up_bias;
    case Role::expert_down: return Role::expert_down_bias;
    case Role::expert_fused_gate_up: return Role::expert_fused_gate_up_bias;
    case Role::output_head: return Role::output_head_bias;
    case Role::recurrent_conv: return Role::recurrent_conv_bias;
    default: return role;
  }
}

std::string joined(std::string_view a, std::string_view b) {
  std::string text(a);
  text += b;
  return text;
}

}  // namespace

Builder::Builder(const Fields& top, const Fields& text, const ClassDefaults& defaults)
    : text_(text), layer_(&no_layer_) {
  model_.model_type = top.text_or({"model_type"}, text.text_or({"model_type"}, ""));
  if (const auto list = top.reader().find({"architectures"}); list && list->value().is_array()) {
    const json::Array& names = list->value().as_array();
    if (!names.empty()) model_.architecture = names.front().as_string();
  }
  model_.dtype = read_dtype(top, text);
  model_.quantization_config = read_quantization(top, text);
  model_.gguf.architecture = defaults.gguf;
  model_.hidden_size = text.extent({"hidden_size", "n_embd", "d_model", "n_embed"});
  model_.vocab_size = text.extent({"padded_vocab_size", "vocab_size"});
  model_.draft_vocab_size = text.extent_or({"draft_vocab_size"}, 0);
  model_.tied_head = read_tied(top, text, defaults.tied);
  read_positions(text, model_, {.class_default = defaults.positions});
}

Result<Model> Builder::finish() {
  if (text_.fault()) return fail(*text_.fault());
  for (const Layer& layer : model_.layers) {
    const auto* moe = std::get_if<MoeFeedForward>(&layer.feed_forward);
    if (moe == nullptr || moe->active <= moe->experts) continue;
    return fail(text_.reader().error(
        ErrorCode::inconsistent, "a token visits " + format_integer(moe->active) +
                                     " experts, but a layer has " + format_integer(moe->experts)));
  }
  if (parameter_count(model_) > kLargestExactInteger) {
    return fail(
        text_.reader().error(ErrorCode::too_large,
                             "the config describes more than 2^53 parameters, which no model has"));
  }
  model_.notes.append(text_.notes());
  return std::move(model_);
}

void Builder::adopt(Model inner, std::string_view prefix) {
  for (Tensor& tensor : inner.tensors) tensor.name.insert(0, prefix);
  inner.model_type = model_.model_type;
  inner.architecture = model_.architecture;
  inner.dtype = model_.dtype;
  if (!model_.quantization_config.is_null()) {
    inner.quantization_config = model_.quantization_config;
  }
  model_ = std::move(inner);
}

Layer& Builder::begin_layer(std::string_view list, int64_t index) {
  model_.layers.emplace_back();
  layer_ = &model_.layers.back();
  layer_->norm = norm_kind_;
  layer_index_ = int64_t(model_.layers.size()) - 1;
  part_ = Part::text;
  scope_ = joined(list, format_integer(index)) + ".";
  return *layer_;
}

Layer& Builder::begin_mtp_layer(std::string scope) {
  model_.mtp_layers.emplace_back();
  layer_ = &model_.mtp_layers.back();
  layer_->norm = norm_kind_;
  layer_index_ = int64_t(model_.layers.size() + model_.mtp_layers.size()) - 1;
  part_ = Part::mtp;
  scope_ = std::move(scope);
  return *layer_;
}

void Builder::end_layers(std::string scope) {
  layer_ = &no_layer_;
  layer_index_ = -1;
  part_ = Part::text;
  scope_ = std::move(scope);
}

void Builder::add(Role role, std::string_view name, Shape shape, int64_t copies,
                  std::optional<DType> dtype) {
  if (copies <= 0 || text_.failed()) return;
  if (model_.tensors.size() >= kMaxTensors) {
    text_.fail(text_.reader().error(
        ErrorCode::too_large,
        "the config describes more than " + format_grouped(int64_t(kMaxTensors)) + " tensors"));
    return;
  }
  Tensor tensor;
  tensor.name = joined(scope_, name);
  tensor.shape = shape;
  tensor.copies = copies;
  tensor.role = role;
  tensor.part = part_;
  tensor.layer = int32_t(layer_index_);
  tensor.dtype = dtype;
  model_.tensors.push_back(std::move(tensor));
}

void Builder::buffer(Role role, std::string_view name, Shape shape, std::optional<DType> dtype) {
  const Part part = part_;
  if (part_ != Part::mtp) part_ = Part::buffer;
  add(role, name, shape, 1, dtype);
  part_ = part;
}

void Builder::linear(Role role, std::string_view name, int64_t out, int64_t in, bool bias,
                     int64_t copies) {
  add(role, joined(name, ".weight"), {out, in}, copies);
  if (bias) add(bias_of(role), joined(name, ".bias"), {out}, copies);
}

void Builder::norm(std::string_view name, int64_t width) {
  if (width == 0) width = hidden();
  if (norm_kind_ == NormKind::layer_norm_bias) {
    biased_norm(name, width);
  } else {
    weight_norm(name, width);
  }
}

void Builder::weight_norm(std::string_view name, int64_t width, Role role) {
  add(role, joined(name, ".weight"), {width});
}

void Builder::biased_norm(std::string_view name, int64_t width, Role role) {
  add(role, joined(name, ".weight"), {width});
  add(role, joined(name, ".bias"), {width});
}

void Builder::pre_norms(std::string_view attention, std::string_view ffn) {
  norm(attention);
  norm(ffn);
}

void Builder::sandwich_norms(std::string_view a, std::string_view b, std::string_view c,
                             std::string_view d) {
  layer_->post_attention_norm = true;
  layer_->post_ffn_norm = true;
  for (const std::string_view name : {a, b, c, d}) norm(name);
}

void Builder::post_norms(std::string_view attention, std::string_view ffn) {
  layer_->pre_attention_norm = false;
  layer_->post_attention_norm = true;
  layer_->post_ffn_norm = true;
  norm(attention);
  norm(ffn);
}

void Builder::parallel_norm(std::string_view name) {
  layer_->parallel = true;
  norm(name);
}

CacheLayout cache_of(const AttentionBlock& b) {
  if (b.shared_with >= 0) return SharedCache{b.shared_with};
  if (b.window > 0 && b.chunked) {
    return ChunkedLocal{b.kv_heads, b.key_dim, b.value_dim, b.window};
  }
  if (b.window > 0) return SlidingWindow{b.kv_heads, b.key_dim, b.value_dim, b.window};
  return FullAttention{b.kv_heads, b.key_dim, b.value_dim};
}

void Builder::attention(const AttentionBlock& block, const AttentionNames& names) {
  attention_tensors(block, names);
  layer_->mixers.push_back(block);
  layer_->caches.push_back(cache_of(block));
}

void Builder::attention_tensors(const AttentionBlock& b, const AttentionNames& names) {
  const auto name = [&](std::string_view part) { return joined(names.scope, part); };
  const int64_t q = times(b.query_heads, b.key_dim);
  const int64_t k = times(b.kv_heads, b.key_dim);
  const int64_t v = times(b.kv_heads, b.value_dim);
  if (b.fused_qkv) {
    linear(Role::fused_qkv, name(names.fused), q + k + v, hidden(), b.qkv_bias);
  } else {
    linear(Role::query, name(names.q), b.output_gate ? 2 * q : q, hidden(), b.qkv_bias);
    linear(Role::key, name(names.k), k, hidden(), b.qkv_bias);
    if (!b.value_is_key) linear(Role::value, name(names.v), v, hidden(), b.qkv_bias);
  }
  linear(Role::attention_output, name(names.o), hidden(), times(b.query_heads, b.value_dim),
         b.output_bias);
  if (b.qk_norm == QkNorm::per_head) {
    weight_norm(name(names.q_norm), b.key_dim, Role::query_norm);
    weight_norm(name(names.k_norm), b.key_dim, Role::key_norm);
  } else if (b.qk_norm == QkNorm::full_width) {
    weight_norm(name(names.q_norm), q, Role::query_norm);
    weight_norm(name(names.k_norm), k, Role::key_norm);
  }
  if (b.sinks) add(Role::attention_sinks, name("sinks"), {b.query_heads});
}

void Builder::latent(const LatentBlock& b, bool bias, std::string_view scope) {
  const auto name = [&](std::string_view part) { return joined(scope, part); };
  const int64_t q = times(b.query_heads, b.nope_dim + b.rope_dim);
  if (b.q_lora_rank > 0) {
    linear(Role::query_down, name("q_a_proj"), b.q_lora_rank, hidden(), bias);
    weight_norm(name("q_a_layernorm"), b.q_lora_rank);
    linear(Role::query_up, name("q_b_proj"), q, b.q_lora_rank);
  } else {
    linear(Role::query, name("q_proj"), q, hidden());
  }
  linear(Role::kv_down, name("kv_a_proj_with_mqa"), b.kv_lora_rank + b.rope_dim, hidden(), bias);
  weight_norm(name("kv_a_layernorm"), b.kv_lora_rank);
  linear(Role::kv_up, name("kv_b_proj"), times(b.query_heads, b.nope_dim + b.value_dim),
         b.kv_lora_rank);
  linear(Role::attention_output, name("o_proj"), hidden(), times(b.query_heads, b.value_dim), bias);
  layer_->mixers.push_back(b);
  layer_->caches.push_back(LatentAttention{b.kv_lora_rank, b.rope_dim});
}

void Builder::indexer(const LatentBlock& b, std::string_view scope, int64_t tokens_per_entry) {
  const auto name = [&](std::string_view part) { return joined(scope, part); };
  linear(Role::indexer, name("wq_b"), times(b.indexer_heads, b.indexer_dim), b.q_lora_rank);
  linear(Role::indexer, name("wk"), b.indexer_dim, hidden());
  biased_norm(name("k_norm"), b.indexer_dim, Role::indexer);
  linear(Role::indexer, name("weights_proj"), b.indexer_heads, hidden());
  layer_->caches.push_back(IndexerKeys{b.indexer_dim, tokens_per_entry});
}

void Builder::gated_tensors(Role gate, Role up, Role down, std::string_view scope, int64_t width,
                            std::string_view gate_name, std::string_view up_name,
                            std::string_view down_name, bool bias, int64_t copies, int64_t input) {
  if (input == 0) input = hidden();
  if (!gate_name.empty()) linear(gate, joined(scope, gate_name), width, input, bias, copies);
  linear(up, joined(scope, up_name), width, input, bias, copies);
  linear(down, joined(scope, down_name), input, width, bias, copies);
}

void Builder::gated_mlp(int64_t width, bool bias, const MlpNames& n) {
  gated_tensors(Role::ffn_gate, Role::ffn_up, Role::ffn_down, n.scope, width, n.gate, n.up, n.down,
                bias);
  layer_->feed_forward = DenseFeedForward{.width = width, .bias = bias};
}

void Builder::fused_mlp(int64_t width, const MlpNames& n) {
  linear(Role::ffn_fused_gate_up, joined(n.scope, n.fused), 2 * width, hidden());
  linear(Role::ffn_down, joined(n.scope, n.down), hidden(), width);
  layer_->feed_forward = DenseFeedForward{.width = width, .fused_gate_up = true};
}

void Builder::plain_mlp(int64_t width, std::string_view up, std::string_view down, bool bias) {
  linear(Role::ffn_up, up, width, hidden(), bias);
  linear(Role::ffn_down, down, hidden(), width, bias);
  layer_->feed_forward = DenseFeedForward{.width = width, .gated = false, .bias = bias};
}

void Builder::moe(const MoeFeedForward& m, const MoeNames& n) {
  linear(Role::router, n.router, m.experts, hidden());
  // Selection biases are kept in fp32 whatever the weights' type is.
  if (m.correction_bias) {
    buffer(Role::router_correction_bias, n.correction, {m.experts}, DType::float32);
  }
  gated_tensors(Role::expert_gate, Role::expert_up, Role::expert_down, n.experts, m.width,
                m.gated ? n.gate : std::string_view(), n.up, n.down, n.expert_bias, m.experts,
                m.latent_width);
  if (m.shared_width > 0) {
    gated_tensors(Role::shared_expert_gate, Role::shared_expert_up, Role::shared_expert_down,
                  n.shared, m.shared_width, m.gated ? n.shared_gate : std::string_view(),
                  n.shared_up, n.shared_down, n.expert_bias);
    if (m.shared_gate) linear(Role::shared_expert_router, n.shared_router, 1, hidden());
  }
  layer_->feed_forward = m;
}

void Builder::embedding(std::string_view name, int64_t rows, int64_t width) {
  add(Role::token_embedding, joined(name, ".weight"),
      {rows > 0 ? rows : model_.vocab_size, width > 0 ? width : hidden()});
}

void Builder::head(std::string_view full_name, bool bias, int64_t width) {
  const std::string scope = std::exchange(scope_, "");
  part_ = model_.tied_head ? Part::tied_head : Part::head;
  add(Role::output_head, joined(full_name, ".weight"),
      {model_.vocab_size, width > 0 ? width : hidden()});
  part_ = Part::head;
  if (bias) add(Role::output_head_bias, joined(full_name, ".bias"), {model_.vocab_size});
  part_ = Part::text;
  scope_ = scope;
}

void Builder::mtp_wrapper(bool own_embedding_and_head) {
  weight_norm("enorm", hidden());
  weight_norm("hnorm", hidden());
  linear(Role::mtp_projection, "eh_proj", hidden(), 2 * hidden());
  weight_norm("shared_head.norm", hidden());
  if (!own_embedding_and_head) return;
  embedding("embed_tokens");
  add(Role::output_head, "shared_head.head.weight", {model_.vocab_size, hidden()});
}

}  // namespace vramwise::model
