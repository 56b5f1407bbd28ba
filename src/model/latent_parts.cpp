// Source: transformers models/deepseek_v3/modeling_deepseek_v3.py, models/glm_moe_dsa;
// deepseek-ai/DeepSeek-V3.2-Exp inference/model.py.
#include "model/latent_parts.h"

#include "base/text.h"

namespace vramwise::model {

LatentBlock read_latent(const Fields& text) {
  LatentBlock block;
  block.query_heads = text.small({"num_attention_heads"});
  block.q_lora_rank = text.extent_or({"q_lora_rank"}, 0);
  block.kv_lora_rank = text.extent({"kv_lora_rank"});
  block.nope_dim = text.small_or({"qk_nope_head_dim"}, 128);
  block.rope_dim = text.small_or({"qk_rope_head_dim"}, 64);
  block.value_dim = text.small_or({"v_head_dim"}, 128);
  return block;
}

LatentBlock read_sparse_latent(const Fields& text) {
  LatentBlock block = read_latent(text);
  block.indexer_heads = text.small({"index_n_heads"});
  block.indexer_dim = text.small({"index_head_dim"});
  block.indexer_top_k = text.extent_or({"index_topk"}, 2048);
  return block;
}

void add_latent_rope(Builder& b, int64_t rope_dim) {
  RopeScaling rope = read_rope_scaling(b.text());
  rope.partial = 1;  // rope_dim is already the rotated part
  add_rope_table(b.text(), b.model(), rope_dim, rope, true);
}

namespace {

// Layers that own an indexer; the others reuse the selection of the last one that does.
std::vector<bool> indexer_layers(const Fields& text, int64_t layers) {
  std::vector<bool> own(size_t(layers), true);
  const std::vector<std::string> types = text.names({"indexer_types"}, layers);
  const int64_t every = text.small_or({"index_topk_freq"}, 0);
  const int64_t first = text.small_or({"index_skip_topk_offset"}, 0);
  for (int64_t i = 0; i < layers; ++i) {
    if (!types.empty()) {
      own[size_t(i)] = types[size_t(i)] == "full";
    } else if (every > 0) {
      own[size_t(i)] = i < first || (i - first) % every == every - 1;
    }
  }
  return own;
}

// Layers whose feed-forward is a mixture of experts.
std::vector<bool> sparse_layers(const Fields& text, int64_t layers, int64_t dense_default) {
  const int64_t dense = text.number({"first_k_dense_replace"}, dense_default, 0, kMaxLayers);
  const std::vector<int64_t> pattern = text.per_layer({"moe_layer_freq"}, layers, 1, kMaxLayers);
  const bool listed = text.reader().find({"moe_layer_freq"}).has_value() &&
                      text.reader().find({"moe_layer_freq"})->value().is_array();
  const std::vector<std::string> types = text.names({"mlp_layer_types"}, layers);
  std::vector<bool> sparse(size_t(layers), false);
  for (int64_t i = 0; i < layers; ++i) {
    const int64_t rate = pattern[size_t(i)];
    const bool chosen = listed ? rate != 0 : rate > 0 && i % rate == 0;
    sparse[size_t(i)] = types.empty() ? i >= dense && chosen : types[size_t(i)] == "sparse";
  }
  return sparse;
}

}  // namespace

void add_deepseek_like(Builder& b, const DeepseekLike& options) {
  const Fields& text = b.text();
  const int64_t layers = text.layers();
  const bool bias = text.flag({"attention_bias"}, false);
  const LatentBlock plain = read_latent(text);
  const LatentBlock sparse = options.sparse_attention ? read_sparse_latent(text) : plain;
  const std::vector<bool> own = indexer_layers(text, layers);
  const std::vector<bool> experts = sparse_layers(text, layers, options.dense_layers);
  MoeFeedForward moe;
  moe.experts = text.experts_or({"n_routed_experts", "num_local_experts", "num_experts"}, 0);
  if (moe.experts > 0) {
    moe.active = text.required({"num_experts_per_tok"}, 1, kMaxExperts);
    moe.width = text.extent({"moe_intermediate_size"});
    moe.shared_width = moe.width * text.experts_or({"n_shared_experts", "num_shared_experts"}, 0);
    moe.correction_bias = options.correction_bias;
    moe.gating = options.correction_bias ? RouterGating::sigmoid : RouterGating::softmax;
    moe.normalise_weights = text.flag({"norm_topk_prob"}, options.correction_bias);
    moe.scale_weights = text.real({"routed_scaling_factor"}, 1, 0, 1e6) != 1;
    moe.expert_groups = text.small_or({"n_group"}, 0);
  }
  const auto add_layer = [&](int64_t i) {
    const bool indexed = options.sparse_attention && (i >= layers || own[size_t(i)]);
    b.latent(indexed ? sparse : plain, bias);
    if (indexed) b.indexer(sparse);
    if (moe.experts > 0 && (i >= layers || experts[size_t(i)])) {
      b.moe(moe);
    } else {
      b.gated_mlp(text.extent({"intermediate_size"}));
    }
    b.pre_norms("input_layernorm", "post_attention_layernorm");
  };
  const std::string stem = options.prefix + "model.";
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer(stem + "layers.", i);
    add_layer(i);
  }
  const int64_t mtp = text.number({"num_nextn_predict_layers"}, 0, 0, 100);
  for (int64_t i = layers; i < layers + mtp && !b.failed(); ++i) {
    b.begin_mtp_layer(stem + "layers." + format_integer(i) + ".");
    add_layer(i);
    b.mtp_wrapper(options.mtp_copies);
  }
  b.end_layers(stem);
  b.embedding();
  b.norm("norm");
  b.head(options.prefix + "lm_head");
  add_latent_rope(b, plain.rope_dim);
}

}  // namespace vramwise::model
