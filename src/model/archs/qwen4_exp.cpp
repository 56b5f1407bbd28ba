// Qwen3.8-Flash-Next (qwen4_exp): gated delta nets in three of four layers, gated attention with an
// index over groups of tokens in the fourth, experts everywhere, several residual streams joined by
// hyper-connections instead of norms, and one layer that reads a hashed n-gram table.
// Source: transformers models/qwen4_exp/modular_qwen4_exp.py; vllm models/qwen4_exp/ (caches, MTP).
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/qwen_parts.h"
#include "model/towers/qwen_vision.h"

namespace vramwise::model {
namespace {

constexpr int64_t kMaxStreams = 64;
constexpr int64_t kMaxNgramRows = 200'000'000;  // of one head
constexpr int64_t kMaxNgramHeads = 32;

struct Index {
  int64_t heads = 0;  // 0: plain attention
  int64_t dim = 0, tokens_per_entry = 1;
};

bool is_prime(int64_t n) {
  if (n < 4) return n > 1;
  if (n % 2 == 0) return false;
  for (int64_t d = 3; d * d <= n; d += 2) {
    if (n % d == 0) return false;
  }
  return true;
}

// Every head hashes into its own prime number of rows: the first `heads` primes from `base` on.
int64_t ngram_rows(int64_t base, int64_t heads) {
  int64_t rows = 0, prime = base - 1;
  for (int64_t i = 0; i < heads; ++i) {
    do ++prime;
    while (!is_prime(prime));
    rows += prime;
  }
  return rows;
}

class Family {
 public:
  Family(Builder& b, const Fields& text)
      : b_(b),
        text_(text),
        parts_(read_hybrid_parts(text, false, demanded_dtype(text, {"mamba_ssm_dtype"}))) {
    streams_ = text.number({"hc_count"}, 4, 2, kMaxStreams);
    rank_ = text.extent_or({"hc_lowrank"}, 320);
    index_.heads = text.number({"indexer_n_heads"}, 0, 0, kMaxSmall);
    index_.dim = text.extent_or({"indexer_head_dim"}, 128);
    index_.tokens_per_entry = text.divisor_or({"indexer_compress_ratio"}, 4);
    ple_layers_ = text.any_integers({"ple_layer_ids"});
  }

  void add_layer(bool attends, int64_t position) {
    if (attends) {
      add_attention();
    } else {
      b_.gated_delta(parts_.delta, "linear_attn.");
    }
    add_hybrid_feed_forward(b_, true);
    add_mixer("attn_hyper_connection.", true);
    add_mixer("mlp_hyper_connection.", true);
    for (size_t i = 0; i < ple_layers_.size(); ++i) {
      if (ple_layers_[i] == position + 1) add_ngrams(int64_t(i));
    }
  }

  // Joins the streams behind the last layer; there is no final norm.
  void add_final_mixer(std::string_view scope) { add_mixer(scope, false); }

  void add_mtp(int64_t count) {
    for (int64_t i = 0; i < count && !b_.failed(); ++i) {
      b_.begin_mtp_layer("mtp.layers." + format_integer(i) + ".");
      add_layer(true, -2);
      if (i > 0) continue;
      b_.set_scope("mtp.");
      b_.linear(Role::mtp_projection, "fc_embedding", b_.hidden(), b_.hidden());
      b_.linear(Role::mtp_projection, "fc_hidden", b_.hidden(), b_.hidden());
      b_.norm("pre_fc_norm_embedding");
      b_.norm("pre_fc_norm_hidden", streams_ * b_.hidden());
      add_mixer("hyper_connection_mixer.", false);
    }
  }

  int64_t head_dim() const { return parts_.attention.key_dim; }

 private:
  void add_attention() {
    b_.attention(parts_.attention);
    if (index_.heads == 0) return;
    // One key head; an entry is the mean of `tokens_per_entry` keys.
    b_.linear(Role::indexer, "self_attn.indexer.index_qk_proj", (index_.heads + 1) * index_.dim,
              b_.hidden());
    b_.weight_norm("self_attn.indexer.q_layernorm", index_.dim);
    b_.weight_norm("self_attn.indexer.k_layernorm", index_.dim);
    b_.layer().caches.push_back(IndexerKeys{index_.dim, index_.tokens_per_entry});
  }

  void add_mixer(std::string_view scope, bool injects) {
    const std::string at(scope);
    const int64_t wide = streams_ * b_.hidden();
    b_.weight_norm(at + "hc_norm", wide);
    b_.linear(Role::hyper_connection, at + "input_mix_weight_down", rank_, wide);
    b_.linear(Role::hyper_connection, at + "input_mix_weight_up", wide, rank_);
    if (injects) b_.linear(Role::hyper_connection, at + "block_inject_weight", streams_, wide);
  }

  // `order`: how many such layers stand before this one, since their tables take other primes.
  void add_ngrams(int64_t order) {
    const int64_t size = text_.number({"ngram_size"}, 3, 2, 8);
    const int64_t heads = (size - 1) * text_.number({"heads_per_ngram"}, 8, 1, kMaxNgramHeads);
    const int64_t base = text_.number({"ngram_vocab_size_base"}, 20'000'000, 2, kMaxNgramRows);
    const int64_t multiple = text_.divisor_or({"make_ngram_vocab_size_divisible_by"}, 128);
    const int64_t width = text_.extent_or({"ple_embed_dim"}, b_.hidden());
    const int64_t head_width = text_.divide(width, "ple_embed_dim", heads, "heads_per_ngram");
    if (b_.failed()) return;
    const int64_t rows =
        ngram_rows(base, (order + 1) * heads) - (order > 0 ? ngram_rows(base, order * heads) : 0);
    std::optional<DType> stored;
    if (ends_with(text_.text_or({"ple_embedding_dtype"}, ""), "float8_e4m3fn")) {
      stored = DType::float8;
    }
    const int64_t wide = streams_ * b_.hidden();
    b_.add(Role::ngram_embedding, "ple.ple_embedding.ngram_embedding.weight",
           {round_up(rows, multiple), head_width}, 1, stored);
    b_.buffer(Role::hash_table, "ple.ple_embedding.layer_multipliers", {size}, DType::int64);
    b_.buffer(Role::hash_table, "ple.ple_embedding.ngram_heads_vocab_sizes", {heads}, DType::int64);
    b_.buffer(Role::hash_table, "ple.ple_embedding.ngram_heads_offsets", {heads}, DType::int64);
    b_.linear(Role::per_layer_projection, "ple.key_proj", wide, width);
    b_.linear(Role::per_layer_projection, "ple.value_proj", b_.hidden(), width);
    for (const std::string_view norm : {"ple.norm_key", "ple.norm_query", "ple.norm_conv"}) {
      b_.weight_norm(norm, wide);
    }
    const int64_t kernel = text_.divisor_or({"ple_conv_kernel_size"}, 4);
    b_.add(Role::recurrent_conv, "ple.conv1d.weight", {wide, 1, kernel});
    // The convolution skips `size` tokens at a time, so it looks (kernel - 1) * size tokens back.
    b_.layer().caches.push_back(ShortConvState{wide, (kernel - 1) * size + 1});
  }

  Builder& b_;
  const Fields& text_;
  HybridParts parts_;
  Index index_;
  int64_t streams_ = 4, rank_ = 320;
  std::vector<int64_t> ple_layers_;  // counted from one
};

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const Fields text = top.text();
  const auto vision = top.section({"vision_config"});
  Builder b(top, text, {.positions = 262144});
  Family family(b, text);
  const int64_t layers = text.layers();
  const std::vector<std::string> types =
      layer_types(text, layers, text.small_or({"full_attention_interval"}, 4), "full_attention",
                  "linear_attention");
  const std::string stem =
      top.section({"text_config"}).has_value() ? "model.language_model." : "model.";
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer(stem + "layers.", i);
    family.add_layer(types[size_t(i)] != "linear_attention", i);
  }
  family.add_mtp(text.number({"mtp_num_hidden_layers"}, 1, 0, 100));
  b.end_layers(stem);
  b.embedding();
  family.add_final_mixer("hyper_connection_mixer.");
  b.head();
  RopeScaling rope = read_rope_scaling(text, "full_attention", 0.25);
  if (!text.has({"rope_parameters"}) && !text.has({"rope_scaling"})) rope.multimodal = true;
  add_rope_table(text, b.model(), family.head_dim(), rope);
  if (vision) add_qwen3_vision(b, *vision);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"qwen4_exp", "qwen4_exp_text"};
constexpr std::string_view kClasses[] = {"Qwen4ExpForConditionalGeneration", "Qwen4ExpForCausalLM"};

}  // namespace

const ArchRule& arch_qwen4_exp() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
