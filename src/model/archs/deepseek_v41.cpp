// DeepSeek V4.1: every layer keeps a window, only a few compress the history, and the layers behind
// them read what the last of those keeps; two layers look up hashed n-grams ("Engram"); a vision
// tower; three draft stages ("DSpark"). Source: deepseek-ai/DeepSeek-V4.1-Flash
// inference/model.py, engram.py and vision.py. Its bytes meet the published checkpoint's total,
// 510,286,023,000.
#include <algorithm>

#include "base/text.h"
#include "model/arch_rule.h"
#include "model/deepseek_v4_parts.h"
#include "model/towers/deepseek_vit.h"

namespace vramwise::model {
namespace {

bool holds(const std::vector<int64_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// A layer that keeps compressed keys for itself and those behind it. Index keys are made of the
// compressed vectors.
void add_source(Builder& b, const SharedKeyShape& s, int64_t ratio) {
  b.linear(Role::compressor, "attn.compressor.wkv", s.head_dim, b.hidden());
  if (ratio > 1) b.linear(Role::compressor, "attn.compressor.wgate", s.head_dim, b.hidden());
  b.weight_norm("attn.compressor.norm", s.head_dim, Role::compressor);
  b.linear(Role::compressor, "attn.indexer.wk", s.index_dim, s.head_dim);
  b.weight_norm("attn.indexer.k_norm", s.index_dim, Role::compressor);
  // Keys and scores of the block that is not full yet; a ratio of 1 has none.
  const int64_t state = ratio > 1 ? 2 * ratio * s.head_dim : 0;
  b.cache(CompressedAttention{s.head_dim, ratio, state});
  b.cache(IndexerKeys{s.index_dim, ratio});
}

struct Engram {
  std::vector<int64_t> layers, rows;
  int64_t width = 256, columns = 24;
};

Engram read_engram(const Fields& text) {
  Engram e;
  e.layers = text.any_integers({"engram_layer_ids"});
  e.rows = text.any_integers({"engram_num_embeddings"});
  e.width = text.small_or({"engram_head_dim"}, 256);
  const int64_t orders = text.number({"engram_max_ngram_size"}, 4, 2, 64) - 1;
  e.columns = orders * text.small_or({"engram_n_heads"}, 8);
  return e;
}

void add_engram(Builder& b, const Engram& e, const SharedKeyShape& s, int64_t layer) {
  const auto found = std::find(e.layers.begin(), e.layers.end(), layer);
  if (found == e.layers.end()) return;
  const auto index = size_t(found - e.layers.begin());
  const int64_t rows = index < e.rows.size() ? e.rows[index] : 0;
  if (rows > 0) b.add(Role::ngram_embedding, "engram.embed.weight", {rows, e.width});
  // A key for each stream and one value, whole on every rank as the other key-value projections.
  b.linear(Role::kv_down, "engram.wkv", (s.streams + 1) * b.hidden(), e.columns * e.width);
  b.add(Role::hyper_connection, "engram.q_weight", {s.streams, b.hidden()});
  b.add(Role::hyper_connection, "engram.k_weight", {s.streams, b.hidden()});
}

void add_experts(Builder& b, const MoeFeedForward& moe) {
  add_v4_experts(b, moe);
  // Image tokens are routed with a bias of their own.
  b.buffer(Role::router_correction_bias, "ffn.gate.bias_vl", {moe.experts}, DType::float32);
}

void add_layer_rest(Builder& b, const SharedKeyShape& s, const MoeFeedForward& moe) {
  add_experts(b, moe);
  b.pre_norms("attn_norm", "ffn_norm");
  add_stream_mixers(b, s.streams);
}

// Stages of the drafter: the first reads three layers of the trunk, the last holds the heads.
void add_draft_stages(Builder& b, const Fields& text, const SharedKeyShape& s, MoeFeedForward moe) {
  const int64_t stages = text.number({"num_nextn_predict_layers"}, 0, 0, 100);
  const auto taps = int64_t(text.any_integers({"dspark_target_layer_ids"}).size());
  moe.experts = text.experts_or({"dspark_n_routed_experts"}, moe.experts);
  moe.active = text.experts_or({"dspark_num_experts_per_tok"}, moe.active);
  for (int64_t i = 0; i < stages && !b.failed(); ++i) {
    b.begin_mtp_layer("mtp." + format_integer(i) + ".");
    add_shared_key_attention(b, s);
    add_layer_rest(b, s, moe);
    if (i == 0 && taps > 0) {
      b.linear(Role::mtp_projection, "main_proj", b.hidden(), taps * b.hidden());
      b.norm("main_norm");
    }
    if (i + 1 < stages) continue;
    b.norm("norm");
    const int64_t rank = text.extent_or({"dspark_markov_rank"}, 0);
    if (rank == 0) continue;
    b.linear(Role::other, "markov_head.embed", b.model().vocab_size, rank);
    b.linear(Role::other, "markov_head.head", b.model().vocab_size, rank);
    b.linear(Role::other, "confidence_head.proj", 1, b.hidden() + rank);
  }
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const Fields text = top.text();
  Builder b(top, text, {.positions = 1048576});
  const SharedKeyShape s = read_shared_key_shape(text, 32);
  const int64_t layers = text.layers();
  const std::vector<int64_t> ratios = text.integers({"compress_ratios"}, layers, kMaxSmall);
  const std::vector<int64_t> sources = text.any_integers({"kv_source_layer_ids"});
  const std::vector<int64_t> searchers = text.any_integers({"index_source_layer_ids"});
  const Engram engram = read_engram(text);
  MoeFeedForward moe = read_v4_experts(text);
  moe.correction_bias = true;
  int64_t source = -1;
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("layers.", i);
    add_shared_key_attention(b, s);
    const int64_t ratio = ratios.empty() ? 0 : ratios[size_t(i)];
    if (ratio > 0 && holds(sources, i)) {
      add_source(b, s, ratio);
      source = i;
    } else if (ratio > 0 && source >= 0) {
      b.cache(SharedCache{source});
    }
    if (holds(searchers, i)) {
      b.linear(Role::indexer, "attn.indexer.wq_b", s.index_heads * s.index_dim, s.q_rank);
      b.linear(Role::indexer, "attn.indexer.weights_proj", s.index_heads, b.hidden());
    }
    add_layer_rest(b, s, moe);
    add_engram(b, engram, s, i);
  }
  add_draft_stages(b, text, s, moe);
  b.end_layers("");
  b.embedding("embed");
  b.norm("norm");
  b.head("head");
  RopeScaling rope = read_rope_scaling(text);
  rope.partial = 1;
  add_rope_table(text, b.model(), text.small_or({"qk_rope_head_dim"}, 64), rope);
  if (const auto vision = top.section({"vision_config"})) add_deepseek_vit(b, *vision);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"deepseek_v41", "deepseek_v41_text"};
constexpr std::string_view kClasses[] = {"DeepseekV41ForCausalLM"};

}  // namespace

const ArchRule& arch_deepseek_v41() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
