#include "weights/quantize_rules.h"

#include <algorithm>
#include <span>
#include <vector>

#include "base/pattern.h"
#include "base/sort.h"
#include "base/text.h"
#include "weights/file_layout.h"
#include "weights/gguf_names.h"
#include "weights/gguf_quirks.h"
#include "weights/matrix.h"

namespace vramwise::weights {
namespace {

using F = FileType;
using G = GgmlType;

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

  std::optional<G> named(std::string_view name, Category category, bool has_output) const {
    const bool embedding = category == Category::embedding;
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

bool kept_by_name(std::string_view name);

// Layers repeat their tensors, so that each name behind "blk.N." is looked at once.
class NameKinds {
 public:
  struct Kind {
    std::string_view name;  // in its layer
    Category category;
    bool kept;  // in its type, whatever the shape
  };

  const Kind& of(const GgufTensor& t) {
    const std::string_view name = name_in_layer(t.name);
    // The next one after the last is nearly always the one.
    for (size_t tried = 0; tried < kinds_.size(); ++tried) {
      last_ = last_ + 1 < kinds_.size() ? last_ + 1 : 0;
      if (kinds_[last_].name == name) return kinds_[last_];
    }
    last_ = kinds_.size();
    kinds_.push_back({name, category_of(name), kept_by_name(name)});
    return kinds_.back();
  }

 private:
  std::vector<Kind> kinds_;
  size_t last_ = 0;
};

// Visiting order: by layer (tensors of no layer first), then by name, bytewise.
std::vector<GgufTensor*> visiting_order(GgufModel& gguf) {
  std::vector<GgufTensor*> order;
  order.reserve(gguf.tensors.size());
  for (GgufTensor& t : gguf.tensors) order.push_back(&t);
  // Files list layer after layer: the first sort has little to do and the second short runs.
  const auto by_layer = [](const GgufTensor* a, const GgufTensor* b) {
    return a->layer < b->layer;
  };
  if (!std::is_sorted(order.begin(), order.end(), by_layer)) {
    sort_stable(order, by_layer);
  }
  for (auto first = order.begin(); first != order.end();) {
    const auto last = std::find_if(
        first, order.end(), [&](const GgufTensor* t) { return t->layer != (*first)->layer; });
    sort_stable(std::span(first, last),
                [](const GgufTensor* a, const GgufTensor* b) { return a->name < b->name; });
    first = last;
  }
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
        kv_heads = has_whole_kv_b(gguf) ? mla->query_heads : 1;
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

namespace {

bool kept_by_name(std::string_view name) {
  if (!ends_with(name, "weight")) return true;
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
                                         ".patch_merger"};
  constexpr std::string_view kTimeMix = "time_mix_";
  constexpr std::string_view kTimeMixParts[] = {
      "first.weight", "w0.weight", "w1.weight",       "w2.weight",       "v0.weight",
      "v1.weight",    "v2.weight", "a0.weight",       "a1.weight",       "a2.weight",
      "g1.weight",    "g2.weight", "decay_w1.weight", "decay_w2.weight", "lerp_fused.weight"};
  // Matrices of attention and feed-forward, nearly all of a file: few of the parts can be theirs.
  const std::string_view stem = name_in_layer(name);
  if (starts_with(stem, "ffn_") || starts_with(stem, "attn_")) {
    return ends_with(stem, "_norm.weight") || starts_with(stem, "ffn_gate_inp.weight") ||
           starts_with(stem, "ffn_gate_tid2eid.weight") || starts_with(stem, "attn_rel_b.weight");
  }
  for (const std::string_view part : kParts) {
    if (contains(name, part)) return true;
  }
  if (const size_t at = name.find(kTimeMix); at != std::string_view::npos) {
    const std::string_view rest = name.substr(at + kTimeMix.size());
    for (const std::string_view part : kTimeMixParts) {
      if (starts_with(rest, part)) return true;
    }
  }
  return name == "position_embd.weight" || name == "token_types.weight";
}

}  // namespace

bool never_quantised(std::string_view name, const std::array<int64_t, 4>& extent) {
  return dimensions(extent) < 2 || kept_by_name(name);
}

Result<void> apply_mixture(GgufModel& gguf, FileType file_type, const MixtureFacts& facts,
                           const QuantizeOptions& options) {
  TRY_ASSIGN(const Overrides overrides, Overrides::read(options));
  const GgmlType plain = info(file_type).plain;
  const bool mixed = info(plain).block_elements > 1 && !options.pure;
  const bool has_output = gguf.find("output.weight") != nullptr;
  NameKinds kinds;
  int64_t values = 0;
  for (const GgufTensor& t : gguf.tensors) {
    if (kinds.of(t).category == Category::value_like) ++values;
  }
  Mixture mixture(file_type, facts, options.imatrix, has_output, values);
  bool wants_imatrix = false;
  for (GgufTensor* t : visiting_order(gguf)) {
    const NameKinds::Kind& kind = kinds.of(*t);
    if (kind.kept || dimensions(t->extent) < 2) continue;
    if (facts.keeps_values && contains(t->name, "v.")) continue;
    GgmlType type = plain;
    if (const auto named = overrides.named(t->name, kind.category, has_output)) {
      type = *named;
    } else if (const auto matched = overrides.matched(t->name); matched && *matched != plain) {
      type = *matched;
    } else if (mixed) {
      type = mixture.type_of(*t, kind.category);
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
