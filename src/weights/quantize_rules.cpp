#include "weights/quantize_rules.h"

#include <algorithm>
#include <vector>

#include "base/pattern.h"
#include "base/text.h"
#include "weights/gguf_names.h"
#include "weights/gguf_quirks.h"
#include "weights/matrix.h"

namespace vramwise::weights {
namespace {

using F = FileType;
using G = GgmlType;

enum class Category {
  output,
  embedding,
  value_like,
  key,
  query,
  attention_output,
  up,
  gate,
  down,
  other
};

// First match of substrings, in the quantiser's order. attn_qkv and attn_kv_b are treated as
// values.
Category category_of(std::string_view name) {
  if (name == "output.weight") return Category::output;
  if (name == "token_embd.weight" || name == "per_layer_token_embd.weight") {
    return Category::embedding;
  }
  struct {
    std::string_view part;
    Category category;
  } constexpr kParts[] = {
      {"attn_qkv.weight", Category::value_like},
      {"attn_kv_b.weight", Category::value_like},
      {"attn_v.weight", Category::value_like},
      {"attn_k.weight", Category::key},
      {"attn_q.weight", Category::query},
      {"attn_output.weight", Category::attention_output},
      {"ffn_up", Category::up},
      {"ffn_gate", Category::gate},
      {"ffn_down", Category::down},
  };
  for (const auto& p : kParts) {
    if (contains(name, p.part)) return p.category;
  }
  return Category::other;
}

bool is_any(F f, std::initializer_list<F> list) {
  return std::find(list.begin(), list.end(), f) != list.end();
}

// Mixtures around 2 bits and below, which have rules of their own.
bool is_low(F f) {
  return is_any(f, {F::IQ1_S, F::IQ1_M, F::IQ2_XXS, F::IQ2_XS, F::IQ2_S, F::IQ2_M});
}

// The first eighth, the last eighth, and every third in between.
bool use_more_bits(int64_t i, int64_t n) {
  return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
}

class Mixture {
 public:
  Mixture(F file_type, const MixtureFacts& facts, bool imatrix, bool has_output, int64_t values)
      : file_type_(file_type),
        facts_(facts),
        imatrix_(imatrix),
        has_output_(has_output),
        values_(values) {}

  // Must see the quantisable tensors in visiting order: positions count.
  G type_of(const GgufTensor& t) {
    const G plain = info(file_type_).plain;
    const Category category = category_of(t.name);
    if (category == Category::output || (!has_output_ && category == Category::embedding)) {
      return output_type(t, plain);
    }
    if (file_type_ == F::MXFP4_MOE) return t.extent[2] > 1 ? G::MXFP4 : G::Q8_0;
    switch (category) {
      case Category::output: break;
      case Category::embedding: return embedding_type(plain);
      case Category::value_like: return value_type(plain, value_++);
      case Category::key: return key_type(plain);
      case Category::query: return query_type(plain);
      case Category::attention_output: return attention_output_type(plain);
      case Category::down: {
        const int64_t place = down_++;
        return is_low(file_type_) ? low_down_type(plain, place)
                                  : down_type(plain, position(t, place));
      }
      case Category::gate: return gate_or_up_type(plain, position(t, gate_++));
      case Category::up: return gate_or_up_type(plain, position(t, up_++));
      case Category::other: break;
    }
    return plain;
  }

 private:
  // With experts a layer has several tensors of a kind, so its number stands for their position.
  int64_t position(const GgufTensor& t, int64_t counted) const {
    return facts_.experts > 1 ? t.layer : counted;
  }

  bool more(int64_t i) const { return use_more_bits(i, facts_.layers); }
  bool first_eighth(int64_t i) const { return i < facts_.layers / 8; }

  G output_type(const GgufTensor& t, G plain) const {
    if (file_type_ == F::MXFP4_MOE || facts_.falcon ||
        t.extent[0] % info(plain).block_elements != 0) {
      return G::Q8_0;
    }
    if (is_low(file_type_) || file_type_ == F::IQ3_XXS) return G::Q5_K;
    return plain == G::Q8_0 ? plain : G::Q6_K;
  }

  G embedding_type(G plain) const {
    if (is_any(file_type_, {F::IQ1_S, F::IQ1_M, F::IQ2_XXS, F::IQ2_XS})) return G::Q2_K;
    if (is_any(file_type_, {F::IQ2_S, F::IQ2_M, F::IQ3_XXS})) return G::IQ3_S;
    if (is_any(file_type_, {F::TQ1_0, F::TQ2_0, F::Q2_0})) return G::Q4_K;
    return plain;
  }

  G value_type(G plain, int64_t i) const {
    const bool grouped = facts_.queries_per_kv >= 4;
    if (is_low(file_type_)) {
      if (grouped || facts_.experts >= 4) return G::Q4_K;
      return is_any(file_type_, {F::IQ2_S, F::IQ2_M}) ? G::IQ3_S : G::Q2_K;
    }
    G type = plain;
    switch (file_type_) {
      case F::Q2_K: type = grouped ? G::Q4_K : G::Q3_K; break;
      case F::IQ3_XXS: type = grouped ? G::Q4_K : imatrix_ ? G::IQ3_XXS : G::IQ3_S; break;
      case F::Q2_K_S:
      case F::IQ3_XS:
      case F::IQ3_S:
        if (grouped) type = G::Q4_K;
        break;
      case F::IQ3_M: type = G::Q4_K; break;
      case F::Q3_K_M: type = i < 2 ? G::Q5_K : G::Q4_K; break;
      case F::Q3_K_L: type = G::Q5_K; break;
      case F::IQ4_NL:
      case F::IQ4_XS:
        if (grouped) type = G::Q5_K;
        break;
      case F::Q4_K_M:
      case F::Q5_K_M:
        if (use_more_bits(i, values_)) type = G::Q6_K;
        break;
      case F::Q4_K_S:
        if (i < 4) type = G::Q5_K;
        break;
      default: break;
    }
    // "In the 70B model we have 8 heads sharing the same attn_v weights": more bits cost little.
    if (facts_.is_70b && (type == G::Q3_K || type == G::Q4_K)) type = G::Q5_K;
    if (facts_.experts == 8) type = G::Q8_0;  // Mixtral: next to nothing beside the experts
    return type;
  }

  G key_type(G plain) const {
    if (is_low(file_type_)) return facts_.experts == 8 ? G::Q4_K : plain;
    return facts_.experts == 8 ? G::Q8_0 : query_type(plain);
  }

  G query_type(G plain) const {
    if (file_type_ == F::IQ3_XS) return G::IQ3_XXS;
    return file_type_ == F::IQ3_XXS ? G::IQ2_S : plain;
  }

  G low_down_type(G plain, int64_t i) const {
    if (!first_eighth(i)) return plain;
    return is_any(file_type_, {F::IQ2_S, F::IQ2_M}) ? G::IQ3_S : G::Q2_K;
  }

  G down_type(G plain, int64_t i) const {
    const bool falcon = facts_.falcon;
    switch (file_type_) {
      case F::Q2_K: return G::Q3_K;
      case F::Q2_K_S: return first_eighth(i) ? G::Q4_K : plain;
      case F::IQ3_XXS:
        if (imatrix_) return plain;
        return first_eighth(i) ? G::Q4_K : G::Q3_K;
      case F::Q3_K_M:
        if (i < facts_.layers / 16) return G::Q5_K;
        return !falcon || more(i) ? G::Q4_K : G::Q3_K;
      case F::IQ3_M: return first_eighth(i) || (facts_.experts == 8 && more(i)) ? G::Q4_K : plain;
      case F::Q3_K_L: return falcon ? G::Q4_K : G::Q5_K;
      case F::Q4_K_M:
        if (!falcon) return more(i) ? G::Q6_K : plain;
        if (i < facts_.layers / 16) return G::Q6_K;
        return more(i) ? G::Q5_K : G::Q4_K;
      case F::IQ4_NL:
      case F::IQ4_XS: return !imatrix_ && first_eighth(i) ? G::Q5_K : plain;
      case F::Q5_K_M: return more(i) ? G::Q6_K : plain;
      case F::Q4_K_S: return !falcon && first_eighth(i) ? G::Q5_K : plain;
      case F::Q4_0: return imatrix_ && first_eighth(i) ? G::Q4_1 : plain;
      case F::Q5_0: return imatrix_ && first_eighth(i) ? G::Q5_1 : plain;
      default: return plain;
    }
  }

  G attention_output_type(G plain) const {
    if (facts_.falcon && !is_low(file_type_)) return file_type_ == F::Q3_K_L ? G::Q4_K : plain;
    if (is_low(file_type_)) {
      if (facts_.experts == 8) return G::Q5_K;
      if (is_any(file_type_, {F::IQ1_S, F::IQ1_M})) return G::IQ2_XXS;
      return is_any(file_type_, {F::IQ2_S, F::IQ2_M}) ? G::IQ3_S : plain;
    }
    if (facts_.experts == 8) {
      const bool raised =
          is_any(file_type_, {F::Q2_K, F::IQ3_XXS, F::IQ3_XS, F::IQ3_S, F::IQ3_M, F::Q3_K_S,
                              F::Q3_K_M, F::IQ4_NL, F::IQ4_XS, F::Q4_K_S, F::Q4_K_M});
      return raised ? G::Q5_K : plain;
    }
    switch (file_type_) {
      case F::Q2_K: return G::Q3_K;
      case F::IQ3_XXS: return G::IQ3_S;
      case F::Q3_K_M:
      case F::IQ3_M: return G::Q4_K;
      case F::Q3_K_L: return G::Q5_K;
      default: return plain;
    }
  }

  G gate_or_up_type(G plain, int64_t i) const {
    const bool middle = i >= facts_.layers / 8 && i < 7 * facts_.layers / 8;
    return file_type_ == F::IQ3_XS && middle ? G::IQ3_XXS : plain;
  }

  const F file_type_;
  const MixtureFacts& facts_;
  const bool imatrix_, has_output_;
  const int64_t values_;  // value-like tensors in the file
  int64_t value_ = 0, down_ = 0, gate_ = 0, up_ = 0;
};

// What a row that the type's block does not divide gets instead; empty: nothing, the run fails.
std::optional<G> fallback(G type, int64_t row) {
  if (row % info(type).block_elements == 0) return type;
  G next = G::F16;
  switch (type) {
    case G::IQ1_S:
    case G::IQ1_M:
    case G::IQ2_XXS:
    case G::IQ2_XS:
    case G::IQ2_S:
    case G::IQ3_XXS:
    case G::IQ3_S:
    case G::IQ4_XS: next = G::IQ4_NL; break;
    case G::Q2_K:
    case G::Q3_K:
    case G::TQ1_0:
    case G::TQ2_0:
    case G::Q2_0: next = G::Q4_0; break;
    case G::Q4_K: next = G::Q5_0; break;
    case G::Q5_K: next = G::Q5_1; break;
    case G::Q6_K: next = G::Q8_0; break;
    default: return std::nullopt;
  }
  return row % info(next).block_elements == 0 ? next : G::F16;
}

bool needs_imatrix(F file_type, const GgufTensor& t) {
  if (t.name == "token_embd.weight" || t.name == "output.weight") return false;
  switch (t.type) {
    case G::IQ3_XXS:
    case G::IQ2_XXS:
    case G::IQ2_XS:
    case G::IQ2_S:
    case G::IQ1_M:
    case G::IQ1_S: return true;
    case G::Q2_K: return file_type == F::Q2_K_S;
    default: return false;
  }
}

// The types a person asks for with the quantiser's own options.
class Overrides {
 public:
  static Result<Overrides> read(const QuantizeOptions& options) {
    Overrides out;
    TRY_ASSIGN(out.output_, type(options.output_tensor_type));
    TRY_ASSIGN(out.embedding_, type(options.token_embedding_type));
    for (const auto& [expression, name] : options.tensor_types) {
      TRY_ASSIGN(Pattern pattern, Pattern::compile(expression));
      TRY_ASSIGN(const std::optional<G> wanted, type(name));
      if (wanted) out.patterns_.push_back({std::move(pattern), *wanted});
    }
    return out;
  }

  std::optional<G> named(std::string_view name, bool has_output) const {
    const bool embedding = category_of(name) == Category::embedding;
    if (embedding && embedding_) return embedding_;
    if (name == "output.weight" || (embedding && !has_output)) return output_;
    return std::nullopt;
  }

  std::optional<G> matched(std::string_view name) const {
    for (const Rule& rule : patterns_) {
      if (rule.pattern.search(name)) return rule.type;
    }
    return std::nullopt;
  }

 private:
  static Result<std::optional<G>> type(const std::string& name) {
    if (name.empty()) return std::optional<G>();
    const std::optional<G> found = ggml_type_from_name(name);
    if (!found) return fail(ErrorCode::not_found, "unknown tensor type \"" + name + "\"");
    return found;
  }

  struct Rule {
    Pattern pattern;
    G type;
  };
  std::optional<G> output_, embedding_;
  std::vector<Rule> patterns_;
};

// Visiting order: by layer (tensors of no layer first), then by name, bytewise.
std::vector<GgufTensor*> visiting_order(GgufModel& gguf) {
  std::vector<GgufTensor*> order;
  order.reserve(gguf.tensors.size());
  for (GgufTensor& t : gguf.tensors) order.push_back(&t);
  std::sort(order.begin(), order.end(), [](const GgufTensor* a, const GgufTensor* b) {
    return a->layer != b->layer ? a->layer < b->layer : a->name < b->name;
  });
  return order;
}

}  // namespace

MixtureFacts mixture_facts(const model::Model& model, const GgufModel& gguf) {
  const GgufQuirks& quirks = gguf_quirks(gguf.architecture);
  MixtureFacts facts;
  facts.layers = gguf.block_count;
  facts.falcon = quirks.falcon_mixture;
  for (const model::Layer& layer : model.layers) {
    if (const auto* moe = experts_of(&layer)) facts.experts = std::max(facts.experts, moe->experts);
  }
  int64_t queries = 0, kv_heads = 0;
  for (const model::Layer& layer : model.layers) {
    for (const model::Mixer& mixer : layer.mixers) {
      if (const auto* a = std::get_if<model::AttentionBlock>(&mixer)) {
        queries = a->query_heads;
        kv_heads = a->kv_heads;
      } else if (const auto* mla = std::get_if<model::LatentBlock>(&mixer)) {
        // Absorbed, all heads read one latent vector.
        queries = mla->query_heads;
        kv_heads = quirks.keeps_kv_b ? mla->query_heads : 1;
      }
    }
    // A head count per layer: only layer 0 is asked. A single one: the first attention's.
    if (quirks.kv_heads_by_layer || kv_heads > 0) break;
  }
  facts.queries_per_kv = kv_heads > 0 ? queries / kv_heads : 0;
  facts.is_70b = quirks.layers_of_70b > 0 && facts.layers == quirks.layers_of_70b &&
                 (!quirks.grouped_70b || queries != kv_heads);
  return facts;
}

bool never_quantised(std::string_view name, const std::array<int64_t, 4>& extent) {
  if (dimensions(extent) < 2 || !ends_with(name, "weight")) return true;
  constexpr std::string_view kParts[] = {"_norm.weight",
                                         "ffn_gate_inp.weight",
                                         "ffn_gate_tid2eid.weight",
                                         "altup",
                                         "laurel",
                                         "per_layer_model_proj",
                                         "ssm_conv1d",
                                         "shortconv.conv.weight",
                                         "indexer.k_proj.weight",
                                         "indexer.q_proj.weight",
                                         "attn_rel_b.weight",
                                         ".position_embd",
                                         ".rel_pos",
                                         ".patch_embd",
                                         ".patch_merger",
                                         "time_mix_first.weight",
                                         "time_mix_w0.weight",
                                         "time_mix_w1.weight",
                                         "time_mix_w2.weight",
                                         "time_mix_v0.weight",
                                         "time_mix_v1.weight",
                                         "time_mix_v2.weight",
                                         "time_mix_a0.weight",
                                         "time_mix_a1.weight",
                                         "time_mix_a2.weight",
                                         "time_mix_g1.weight",
                                         "time_mix_g2.weight",
                                         "time_mix_decay_w1.weight",
                                         "time_mix_decay_w2.weight",
                                         "time_mix_lerp_fused.weight"};
  for (const std::string_view part : kParts) {
    if (contains(name, part)) return true;
  }
  return name == "position_embd.weight" || name == "token_types.weight";
}

Result<void> apply_mixture(GgufModel& gguf, FileType file_type, const MixtureFacts& facts,
                           const QuantizeOptions& options) {
  TRY_ASSIGN(const Overrides overrides, Overrides::read(options));
  const GgmlType plain = info(file_type).plain;
  const bool mixed = info(plain).block_elements > 1 && !options.pure;
  const bool has_output = gguf.find("output.weight") != nullptr;
  int64_t values = 0;
  for (const GgufTensor& t : gguf.tensors) {
    if (category_of(t.name) == Category::value_like) ++values;
  }
  Mixture mixture(file_type, facts, options.imatrix, has_output, values);
  bool wants_imatrix = false;
  for (GgufTensor* t : visiting_order(gguf)) {
    if (never_quantised(t->name, t->extent)) continue;
    GgmlType type = plain;
    if (const auto named = overrides.named(t->name, has_output)) {
      type = *named;
    } else if (const auto matched = overrides.matched(t->name); matched && *matched != plain) {
      type = *matched;
    } else if (mixed) {
      type = mixture.type_of(*t);
    }
    const std::optional<GgmlType> possible = fallback(type, t->extent[0]);
    if (!possible) {
      return fail(Error(ErrorCode::inconsistent,
                        std::string(info(type).name) + " cannot hold " + t->name +
                            ": its rows of " + format_integer(t->extent[0]) +
                            " are not a multiple of " + format_integer(info(type).block_elements))
                      .at("weights")
                      .hint("choose a K-quant such as Q4_K_M, which has fallbacks for such rows"));
    }
    t->type = *possible;
    wants_imatrix = wants_imatrix || needs_imatrix(file_type, *t);
  }
  if (wants_imatrix && !options.imatrix) {
    gguf.notes.warn(
        "imatrix_required",
        std::string(info(file_type).name) +
            " can only be made with an importance matrix; a file made with one may give "
            "some tensors other types than assumed here.",
        "ggml-org/llama.cpp src/llama-quant.cpp");
  }
  return {};
}

}  // namespace vramwise::weights
