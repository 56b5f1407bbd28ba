// DeepSeek V4: one vector per token serves as key and value; most layers keep a window of them and
// a compressed history; several residual streams ("hyper-connections"). Source:
// deepseek-ai/DeepSeek-V4-Flash inference/model.py (names), config.json (compress_ratios).
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/builder.h"
#include "model/deepseek_v4_parts.h"

namespace vramwise::model {
namespace {

// Keys and gates of the unfinished block; a ratio of 4 overlaps two blocks and so doubles the
// width.
void add_compressor(Builder& b, const std::string& scope, int64_t ratio, int64_t dim) {
  const int64_t width = dim * (ratio == 4 ? 2 : 1);
  b.linear(Role::compressor, scope + "wkv", width, b.hidden());
  b.linear(Role::compressor, scope + "wgate", width, b.hidden());
  b.add(Role::compressor, scope + "ape", {ratio, width}, 1, DType::float32);
  b.weight_norm(scope + "norm", dim, Role::compressor);
}

void add_attention(Builder& b, const SharedKeyShape& s, int64_t ratio) {
  add_shared_key_attention(b, s);
  if (ratio == 0) return;
  add_compressor(b, "attn.compressor.", ratio, s.head_dim);
  // Two buffers (keys, scores): a block of `ratio` rows, or two overlapping ones of doubled width.
  int64_t state = 2 * (ratio == 4 ? 8 * 2 * s.head_dim : ratio * s.head_dim);
  if (ratio == 4) {
    state += 2 * 8 * 2 * s.index_dim;
    b.linear(Role::indexer, "attn.indexer.wq_b", s.index_heads * s.index_dim, s.q_rank);
    b.linear(Role::indexer, "attn.indexer.weights_proj", s.index_heads, b.hidden());
    add_compressor(b, "attn.indexer.compressor.", 4, s.index_dim);
  }
  b.cache(CompressedAttention{s.head_dim, ratio, state});
  if (ratio == 4) b.cache(IndexerKeys{s.index_dim, 4});
}

void add_stream_head(Builder& b, const SharedKeyShape& s) {
  b.add(Role::hyper_connection, "hc_head_fn", {s.streams, s.streams * b.hidden()}, 1,
        DType::float32);
  b.add(Role::hyper_connection, "hc_head_base", {s.streams}, 1, DType::float32);
  b.add(Role::hyper_connection, "hc_head_scale", {1}, 1, DType::float32);
}

void add_experts(Builder& b, MoeFeedForward moe, bool hashed) {
  const bool mtp = b.part() == Part::mtp;
  moe.correction_bias = !hashed;
  add_v4_experts(b, moe);
  // The first layers choose experts by the token's id.
  if (hashed && !mtp) {
    b.buffer(Role::hash_table, "ffn.gate.tid2eid", {b.model().vocab_size, moe.active},
             DType::int32);
  }
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 1048576, .gguf = "deepseek4"});
  const SharedKeyShape s = read_shared_key_shape(fields, 64);
  const int64_t layers = fields.layers();
  const std::vector<int64_t> ratios = fields.integers({"compress_ratios"}, layers, kMaxSmall);
  const int64_t hashed = fields.number({"num_hash_layers"}, 3, 0, kMaxLayers);
  const MoeFeedForward moe = read_v4_experts(fields);
  const auto add_layer = [&](int64_t ratio, bool by_hash) {
    add_attention(b, s, ratio);
    add_experts(b, moe, by_hash);
    b.pre_norms("attn_norm", "ffn_norm");
    add_stream_mixers(b, s.streams);
  };
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("layers.", i);
    add_layer(ratios.empty() ? 0 : ratios[size_t(i)], i < hashed);
  }
  const int64_t mtp = fields.number({"num_nextn_predict_layers"}, 0, 0, 100);
  for (int64_t i = 0; i < mtp && !b.failed(); ++i) {
    b.begin_mtp_layer("mtp." + format_integer(i) + ".");
    add_layer(0, false);
    b.linear(Role::mtp_projection, "e_proj", b.hidden(), b.hidden());
    b.linear(Role::mtp_projection, "h_proj", b.hidden(), b.hidden());
    for (const std::string_view name : {"enorm", "hnorm", "norm"}) b.norm(name);
    add_stream_head(b, s);
  }
  b.end_layers("");
  add_stream_head(b, s);
  b.embedding("embed");
  b.norm("norm");
  b.head("head");
  RopeScaling rope = read_rope_scaling(fields);
  rope.partial = 1;
  add_rope_table(fields, b.model(), fields.small_or({"qk_rope_head_dim"}, 64), rope);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"deepseek_v4"};
constexpr std::string_view kClasses[] = {"DeepseekV4ForCausalLM"};

}  // namespace

const ArchRule& arch_deepseek_v4() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
