#include "model/model.h"

#include <numeric>

#include "model/served_type.h"

namespace vramwise::model {
namespace {

// True for tensors that are created, and are parameters, when the model is loaded to serve.
bool is_parameter(const Tensor& tensor) {
  switch (tensor.part) {
    case Part::text:
    case Part::head:
    case Part::vision:
    case Part::audio:
    case Part::projector: return true;
    case Part::tied_head:
    case Part::mtp:
    case Part::buffer:
    case Part::stored_unused: return false;
  }
  return false;
}

bool is_routed_expert(Role role) {
  switch (role) {
    case Role::expert_gate:
    case Role::expert_up:
    case Role::expert_down:
    case Role::expert_fused_gate_up:
    case Role::expert_gate_bias:
    case Role::expert_up_bias:
    case Role::expert_down_bias:
    case Role::expert_fused_gate_up_bias: return true;
    default: return false;
  }
}

int64_t sum_of(const Model& model, Part part) {
  int64_t total = 0;
  for (const Tensor& tensor : model.tensors) {
    if (tensor.part == part) total = saturating_add(total, tensor.elements());
  }
  return total;
}

template <class F>
Bytes sum_over_caches(const Model& model, F&& bytes_of) {
  Bytes total;
  for (const Layer& layer : model.layers) {
    for (const CacheLayout& cache : layer.caches) total += bytes_of(cache);
  }
  return total;
}

}  // namespace

int64_t parameter_count(const Model& model) {
  int64_t total = 0;
  for (const Tensor& tensor : model.tensors) {
    if (is_parameter(tensor)) total = saturating_add(total, tensor.elements());
  }
  return total;
}

int64_t active_parameter_count(const Model& model) {
  int64_t total = 0;
  for (const Tensor& tensor : model.tensors) {
    if (!is_parameter(tensor)) continue;
    // A token reads a few rows of it.
    if (tensor.role == Role::ngram_embedding) continue;
    int64_t elements = tensor.elements();
    if (is_routed_expert(tensor.role) && tensor.layer >= 0 &&
        size_t(tensor.layer) < model.layers.size()) {
      const auto* moe =
          std::get_if<MoeFeedForward>(&model.layers[size_t(tensor.layer)].feed_forward);
      // All experts of a layer have one shape, so the division is exact.
      if (moe != nullptr && moe->experts > 0 && moe->active < moe->experts) {
        elements = saturating_multiply(elements / moe->experts, moe->active);
      }
    }
    total = saturating_add(total, elements);
  }
  return total;
}

int64_t buffer_count(const Model& model) { return sum_of(model, Part::buffer); }
int64_t mtp_parameter_count(const Model& model) { return sum_of(model, Part::mtp); }

Bytes kv_bytes_per_token(const Model& model) {
  // Compressed caches cost a fraction of an element per token; the sum is exact over the least
  // common multiple of the ratios and is rounded up once.
  int64_t denominator = 1;
  for (const Layer& layer : model.layers) {
    for (const CacheLayout& cache : layer.caches) {
      const int64_t per = growing_elements(cache).per_tokens;
      const int64_t common = saturating_multiply(denominator / std::gcd(denominator, per), per);
      if (common < kLargestExactInteger) denominator = common;
    }
  }
  int64_t numerator = 0;
  for (const Layer& layer : model.layers) {
    for (const CacheLayout& cache : layer.caches) {
      const TokenRate rate = growing_elements(cache);
      numerator = saturating_add(numerator,
                                 saturating_multiply(rate.elements, denominator / rate.per_tokens));
    }
  }
  return Bytes(
      ceil_div(saturating_multiply(numerator, dtype_bytes(served_type(model))), denominator));
}

Bytes cache_bytes_at(const Model& model, Tokens tokens, const CacheTypes& types) {
  return sum_over_caches(model,
                         [&](const CacheLayout& cache) { return bytes_at(cache, tokens, types); });
}

Bytes fixed_cache_bytes(const Model& model, const CacheTypes& types) {
  return sum_over_caches(model,
                         [&](const CacheLayout& cache) { return fixed_bytes(cache, types); });
}

}  // namespace vramwise::model
