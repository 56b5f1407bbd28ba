#include "weights/mixture.h"

#include <algorithm>
#include <initializer_list>

#include "base/text.h"

namespace vramwise::weights {
namespace {

using F = FileType;
using G = GgmlType;

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

// What a matrix of queries, keys and values in one piece was given in 2023.
GgmlType fused_type_of_2023(F file_type) {
  switch (file_type) {
    case F::Q3_K_M:
    case F::Q3_K_L: return G::Q4_K;
    case F::Q4_K_M: return G::Q5_K;
    case F::Q5_K_M: return G::Q6_K;
    default: return info(file_type).plain;
  }
}

}  // namespace

std::string_view name_in_layer(std::string_view name) {
  constexpr std::string_view kLayer = "blk.";
  if (!starts_with(name, kLayer)) return name;
  const size_t dot = name.find('.', kLayer.size());
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

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
  // Nearly every name begins with its kind once the layer is taken off.
  const std::string_view stem = name_in_layer(name);
  for (const auto& p : kParts) {
    if (starts_with(stem, p.part)) return p.category;
  }
  for (const auto& p : kParts) {
    if (contains(name, p.part)) return p.category;
  }
  return Category::other;
}

// Q2_K kept attention's queries and keys only in 2 bits, two or four layers were raised where a
// sixteenth or an eighth of them is now, and one matrix of queries, keys and values was no value.
// Source: ggml-org/llama.cpp at 328b83de2 (19 December 2023), llama.cpp, get_k_quant_type.
std::optional<GgmlType> Mixture::type_of_2023(Category category, std::string_view name) {
  if (facts_.falcon || facts_.experts == 8 || facts_.is_70b) return std::nullopt;
  if (contains(name, "attn_qkv")) return fused_type_of_2023(file_type_);
  if (file_type_ == F::Q4_K_S && category == Category::down) {
    return down_++ < 4 ? G::Q5_K : G::Q4_K;
  }
  const bool two_bits = file_type_ == F::Q2_K;
  if (!two_bits && file_type_ != F::Q3_K_M) return std::nullopt;
  switch (category) {
    case Category::value_like: return two_bits ? G::Q3_K : value_++ < 2 ? G::Q5_K : G::Q4_K;
    case Category::down: return two_bits ? G::Q3_K : down_++ < 2 ? G::Q5_K : G::Q4_K;
    case Category::attention_output: return two_bits ? G::Q3_K : G::Q4_K;
    case Category::gate:
    case Category::up: return G::Q3_K;
    default: return std::nullopt;
  }
}

GgmlType Mixture::type_of(const GgufTensor& t, Category category) {
  const G plain = info(file_type_).plain;
  if (facts_.of_2023) {
    if (const auto older = type_of_2023(category, t.name)) return *older;
  }
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

// With experts a layer has several tensors of a kind, so its number stands for their position.
int64_t Mixture::position(const GgufTensor& t, int64_t counted) const {
  return facts_.experts > 1 ? t.layer : counted;
}

bool Mixture::more(int64_t i) const { return use_more_bits(i, facts_.layers); }

GgmlType Mixture::output_type(const GgufTensor& t, G plain) const {
  if (file_type_ == F::MXFP4_MOE || facts_.falcon ||
      t.extent[0] % info(plain).block_elements != 0) {
    return G::Q8_0;
  }
  if (is_low(file_type_) || file_type_ == F::IQ3_XXS) return G::Q5_K;
  return plain == G::Q8_0 ? plain : G::Q6_K;
}

GgmlType Mixture::embedding_type(G plain) const {
  if (is_any(file_type_, {F::IQ1_S, F::IQ1_M, F::IQ2_XXS, F::IQ2_XS})) return G::Q2_K;
  if (is_any(file_type_, {F::IQ2_S, F::IQ2_M, F::IQ3_XXS})) return G::IQ3_S;
  if (is_any(file_type_, {F::TQ1_0, F::TQ2_0, F::Q2_0})) return G::Q4_K;
  return plain;
}

GgmlType Mixture::value_type(G plain, int64_t i) const {
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

GgmlType Mixture::key_type(G plain) const {
  if (is_low(file_type_)) return facts_.experts == 8 ? G::Q4_K : plain;
  return facts_.experts == 8 ? G::Q8_0 : query_type(plain);
}

GgmlType Mixture::query_type(G plain) const {
  if (file_type_ == F::IQ3_XS) return G::IQ3_XXS;
  return file_type_ == F::IQ3_XXS ? G::IQ2_S : plain;
}

GgmlType Mixture::low_down_type(G plain, int64_t i) const {
  if (!first_eighth(i)) return plain;
  return is_any(file_type_, {F::IQ2_S, F::IQ2_M}) ? G::IQ3_S : G::Q2_K;
}

GgmlType Mixture::down_type(G plain, int64_t i) const {
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

GgmlType Mixture::attention_output_type(G plain) const {
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

GgmlType Mixture::gate_or_up_type(G plain, int64_t i) const {
  const bool middle = i >= facts_.layers / 8 && i < 7 * facts_.layers / 8;
  return file_type_ == F::IQ3_XS && middle ? G::IQ3_XXS : plain;
}

}  // namespace vramwise::weights
