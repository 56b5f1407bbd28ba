// MiniMax-Text-01 and M1 (lightning attention in seven of eight layers), M2 (attention only) and M3
// (block-sparse attention with index keys).
// Source: MiniMaxAI/MiniMax-Text-01 modeling_minimax_text_01.py; transformers models/minimax_m2;
// MiniMaxAI/MiniMax-M3 config.json.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/llama_like.h"
#include "model/plain_attention.h"
#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

MoeNames expert_names() {
  MoeNames names;
  names.router = "block_sparse_moe.gate";
  names.correction = "block_sparse_moe.e_score_correction_bias";
  names.experts = "block_sparse_moe.experts.{e}.";
  names.gate = "w1";
  names.up = "w3";
  names.down = "w2";
  names.shared = "block_sparse_moe.shared_experts.";
  return names;
}

MoeFeedForward read_experts(const Fields& text, bool v2) {
  MoeFeedForward moe;
  moe.experts = text.required({"num_local_experts"}, 1, kMaxExperts);
  moe.active = text.required({"num_experts_per_tok"}, 1, kMaxExperts);
  moe.width = text.extent({"intermediate_size"});
  moe.correction_bias = v2;
  moe.gating = v2 ? RouterGating::sigmoid : RouterGating::softmax;
  return moe;
}

Result<Model> build_m2(const Fields& fields) {
  Builder b(fields, fields, {.positions = 196608, .gguf = "minimax-m2"});
  const MoeFeedForward moe = read_experts(fields, true);
  LlamaLike options;
  options.heads = {.kv_heads = 8, .head_dim = 128};
  if (fields.flag({"use_qk_norm"}, true)) options.qk_norm = QkNorm::full_width;
  options.feed_forward = [&](int64_t) {
    b.moe(moe, expert_names());
    return true;
  };
  add_llama_like(b, options);
  // The published files keep the router in fp32.
  for (Tensor& tensor : b.model().tensors) {
    if (tensor.role == Role::router) tensor.dtype = DType::float32;
  }
  return b.finish();
}

Result<Model> build_text01(const Fields& fields) {
  Builder b(fields, fields, {.positions = 10240000, .gguf = "minimax-01"});
  const Heads heads = read_heads(fields, {.kv_heads = 8});
  const MoeFeedForward moe = read_experts(fields, false);
  const int64_t layers = fields.layers();
  std::vector<int64_t> kinds = fields.integers({"attn_type_list"}, layers, 1);
  if (kinds.empty()) {
    for (const std::string& type : layer_types(fields, layers, 8, "full_attention", "linear")) {
      kinds.push_back(type == "full_attention" ? 1 : 0);
    }
  }
  const int64_t inner = heads.query * heads.dim;
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("model.layers.", i);
    if (kinds[size_t(i)] == 1) {
      AttentionBlock block = plain_attention(heads);
      b.attention(block);
    } else {
      b.linear(Role::recurrent_in, "self_attn.qkv_proj", 3 * inner, b.hidden());
      b.linear(Role::recurrent_in, "self_attn.output_gate", inner, b.hidden());
      b.linear(Role::recurrent_out, "self_attn.out_proj", b.hidden(), inner);
      b.weight_norm("self_attn.norm", inner, Role::recurrent_norm);
      b.recurrent(LightningState{heads.query, heads.dim});
    }
    b.moe(moe, expert_names());
    b.pre_norms("input_layernorm", "post_attention_layernorm");
  }
  b.end_layers("model.");
  b.embedding();
  b.norm("norm");
  b.head();
  add_rope_table(fields, b.model(), heads.dim);
  return b.finish();
}

// A CLIP-like tower over patches of two frames; its projector's shape is not published.
void add_m3_tower(Builder& b, const Fields& vision) {
  const int64_t h = vision.extent({"hidden_size"});
  const int64_t width = vision.extent({"intermediate_size"});
  const int64_t patch = vision.small({"patch_size"});
  const Fields frames = vision.nested({"img_token_compression_config"});
  begin_tower(b, "vision_tower.vision_model.");
  b.add(Role::tower, "embeddings.patch_embedding.weight",
        {h, vision.small({"num_channels"}) * frames.small_or({"temporal_patch_size"}, 2), patch,
         patch});
  tower_norm(b, "pre_layrnorm", h, true);
  add_clip_layers(b, {.layers = vision.layers(), .hidden = h, .width = width});
  describe_tower(b, h, width, vision.layers());
  vision.notes().warn("projector_not_modelled", "the projector of MiniMax-M3 is not counted");
}

Result<Model> build_m3(const Fields& top) {
  const Fields text = top.text();
  const auto vision = top.section({"vision_config"});
  Builder b(top, text, {.positions = 1048576, .gguf = "minimax-m3"});
  MoeFeedForward moe = read_experts(text, true);
  if (text.experts_or({"n_shared_experts"}, 0) > 0) {
    moe.shared_width = text.extent({"shared_intermediate_size"});
  }
  const int64_t layers = text.layers();
  const Fields sparse = text.nested({"sparse_attention_config"});
  std::vector<int64_t> indexed(size_t(layers), 0);
  if (sparse.flag({"use_sparse_attention"}, true)) {
    indexed = sparse.per_layer({"sparse_attention_freq"}, layers, 0, 1);
  }
  const std::vector<int64_t> experts = text.per_layer({"moe_layer_freq"}, layers, 1, 1);
  const int64_t index_heads = sparse.small_or({"sparse_num_index_heads"}, 1);
  LlamaLike options;
  options.qk_norm = QkNorm::per_head;
  if (vision) {
    options.stem = "language_model.model.";
    options.head = "language_model.lm_head";
  }
  options.attention = [&](int64_t, AttentionBlock&) {};
  options.feed_forward = [&](int64_t i) {
    if (indexed[size_t(i)] != 0) {
      const int64_t dim = sparse.divisor_or({"sparse_index_dim"}, 128);
      b.linear(Role::indexer, "self_attn.index_q_proj", index_heads * dim, b.hidden());
      b.linear(Role::indexer, "self_attn.index_k_proj", dim, b.hidden());
      b.weight_norm("self_attn.index_q_norm", dim, Role::indexer);
      b.weight_norm("self_attn.index_k_norm", dim, Role::indexer);
      b.cache(IndexerKeys{dim});
    }
    if (experts[size_t(i)] != 0) {
      b.moe(moe, expert_names());
    } else {
      b.gated_mlp(text.extent({"dense_intermediate_size"}));
    }
    return true;
  };
  add_llama_like(b, options);
  if (vision) add_m3_tower(b, *vision);
  return b.finish();
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const std::string type = top.text_or({"model_type"}, "minimax_m2");
  if (type == "minimax_m2") return build_m2(top);
  if (starts_with(type, "minimax_m3")) return build_m3(top);
  return build_text01(top);
}

constexpr std::string_view kTypes[] = {"minimax",           "minimax_text_01", "minimax_m1",
                                       "minimax_m2",        "minimax_m3",      "minimax_m3_vl",
                                       "minimax_m3_vl_text"};
constexpr std::string_view kClasses[] = {"MiniMaxText01ForCausalLM", "MiniMaxM1ForCausalLM",
                                         "MiniMaxM2ForCausalLM", "MiniMaxM3SparseForCausalLM",
                                         "MiniMaxM3SparseForConditionalGeneration"};

}  // namespace

const ArchRule& arch_minimax() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
