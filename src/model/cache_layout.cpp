#include "model/cache_layout.h"

#include <algorithm>

#include "base/text.h"

namespace vramwise::model {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

int64_t times(int64_t a, int64_t b) { return saturating_multiply(a, b); }

int64_t pair_elements(int64_t kv_heads, int64_t key_dim, int64_t value_dim) {
  return times(kv_heads, saturating_add(key_dim, value_dim));
}

Bytes sized(int64_t elements, DType type) { return Bytes(elements) * dtype_bytes(type); }

// A state is its convolution columns and its matrix, each in its own type.
Bytes state_bytes(int64_t channels, int64_t conv_kernel, int64_t matrix, const CacheTypes& types,
                  const std::optional<DType>& demanded = std::nullopt) {
  const int64_t columns = std::max<int64_t>(0, conv_kernel - 1);
  return sized(times(channels, columns), types.conv) +
         sized(matrix, demanded.value_or(types.recurrent));
}

// Tokens that the layer's window holds; nullopt when the layer has none.
std::optional<int64_t> window_of(const CacheLayout& layout) {
  return std::visit(Overloaded{[](const SlidingWindow& w) { return std::optional(w.window); },
                               [](const ChunkedLocal& c) { return std::optional(c.chunk); },
                               [](const SharedKeyWindow& w) { return std::optional(w.window); },
                               [](const auto&) { return std::optional<int64_t>(); }},
                    layout);
}

// Elements that one token takes in the window.
int64_t window_elements(const CacheLayout& layout) {
  return std::visit(
      Overloaded{
          [](const SlidingWindow& w) { return pair_elements(w.kv_heads, w.key_dim, w.value_dim); },
          [](const ChunkedLocal& c) { return pair_elements(c.kv_heads, c.key_dim, c.value_dim); },
          [](const SharedKeyWindow& w) { return w.head_dim; },
          [](const auto&) { return int64_t{0}; }},
      layout);
}

}  // namespace

TokenRate growing_elements(const CacheLayout& layout) {
  return std::visit(
      Overloaded{[](const FullAttention& a) {
                   return TokenRate{pair_elements(a.kv_heads, a.key_dim, a.value_dim), 1};
                 },
                 [](const LatentAttention& a) {
                   return TokenRate{saturating_add(a.kv_lora_rank, a.rope_dim), 1};
                 },
                 [](const IndexerKeys& k) {
                   return TokenRate{k.key_dim, std::max<int64_t>(1, k.tokens_per_entry)};
                 },
                 [](const CompressedAttention& c) {
                   return TokenRate{c.head_dim, std::max<int64_t>(1, c.ratio)};
                 },
                 [](const auto&) { return TokenRate{}; }},
      layout);
}

Bytes fixed_bytes(const CacheLayout& layout, const CacheTypes& types) {
  return std::visit(
      Overloaded{
          [&](const Mamba1State& s) {
            return state_bytes(s.inner, s.conv_kernel, times(s.inner, s.state), types,
                               s.state_dtype);
          },
          [&](const Mamba2State& s) {
            const int64_t inner = times(s.heads, s.head_dim);
            const int64_t channels = saturating_add(inner, times(2, times(s.groups, s.state)));
            return state_bytes(channels, s.conv_kernel, times(inner, s.state), types,
                               s.state_dtype);
          },
          [&](const GatedDeltaState& s) {
            const int64_t channels = saturating_add(times(2, times(s.key_heads, s.key_dim)),
                                                    times(s.value_heads, s.value_dim));
            const int64_t matrix = times(s.value_heads, times(s.key_dim, s.value_dim));
            return state_bytes(channels, s.conv_kernel, matrix, types, s.state_dtype);
          },
          [&](const KimiDeltaState& s) {
            const int64_t inner = times(s.heads, s.head_dim);
            return state_bytes(times(3, inner), s.conv_kernel, times(inner, s.head_dim), types);
          },
          [&](const LightningState& s) {
            return sized(times(s.heads, times(s.head_dim, s.head_dim)), types.recurrent);
          },
          [&](const ShortConvState& s) { return state_bytes(s.channels, s.conv_kernel, 0, types); },
          [&](const RwkvState& s) {
            return sized(times(s.shifts, s.hidden_size), types.conv) +
                   sized(times(s.heads, times(s.head_dim, s.head_dim)), types.recurrent);
          },
          [&](const CrossAttention& c) {
            return sized(times(c.encoder_tokens, pair_elements(c.kv_heads, c.head_dim, c.head_dim)),
                         types.attention);
          },
          // The scores and keys of the unfinished block stay in fp32 whatever the cache's type is.
          [&](const CompressedAttention& c) { return sized(c.state_elements, DType::float32); },
          [](const auto&) { return Bytes(); }},
      layout);
}

Bytes window_bytes(const CacheLayout& layout, const CacheTypes& types) {
  return sized(times(window_elements(layout), window_of(layout).value_or(0)), types.attention);
}

Bytes bytes_at(const CacheLayout& layout, Tokens tokens, const CacheTypes& types) {
  const int64_t length = std::max<int64_t>(0, tokens.count());
  const TokenRate rate = growing_elements(layout);
  int64_t elements = times(rate.elements, length / rate.per_tokens);
  if (const auto window = window_of(layout)) {
    elements = times(window_elements(layout), std::min(length, *window));
  }
  return sized(elements, types.attention) + fixed_bytes(layout, types);
}

bool is_recurrent(const CacheLayout& layout) {
  return std::visit(
      Overloaded{
          [](const Mamba1State&) { return true; }, [](const Mamba2State&) { return true; },
          [](const GatedDeltaState&) { return true; }, [](const KimiDeltaState&) { return true; },
          [](const LightningState&) { return true; }, [](const ShortConvState&) { return true; },
          [](const RwkvState&) { return true; }, [](const auto&) { return false; }},
      layout);
}

std::string describe(const CacheLayout& layout) {
  const auto n = [](int64_t value) { return format_integer(value); };
  const auto every = [](int64_t tokens) {
    return tokens > 1 ? " per " + format_integer(tokens) + " tokens" : std::string();
  };
  return std::visit(
      Overloaded{
          [&](const FullAttention&) { return std::string("full"); },
          [&](const SlidingWindow& w) { return "sliding " + n(w.window); },
          [&](const ChunkedLocal& c) { return "chunked " + n(c.chunk); },
          [&](const LatentAttention& a) {
            return "latent " + n(a.kv_lora_rank) + "+" + n(a.rope_dim);
          },
          [&](const IndexerKeys& k) {
            return "indexer keys " + n(k.key_dim) + every(k.tokens_per_entry);
          },
          [&](const CompressedAttention& c) {
            return "compressed " + n(c.head_dim) + every(c.ratio);
          },
          [&](const SharedKeyWindow& w) { return "sliding " + n(w.window) + ", K = V"; },
          [&](const Mamba1State&) { return std::string("Mamba state"); },
          [&](const Mamba2State&) { return std::string("Mamba-2 state"); },
          [&](const GatedDeltaState&) { return std::string("gated delta state"); },
          [&](const KimiDeltaState&) { return std::string("Kimi delta state"); },
          [&](const LightningState&) { return std::string("linear attention state"); },
          [&](const ShortConvState&) { return std::string("short convolution"); },
          [&](const RwkvState&) { return std::string("RWKV state"); },
          [&](const CrossAttention& c) { return "cross attention over " + n(c.encoder_tokens); },
          [&](const SharedCache& s) { return "shared with layer " + n(s.layer); }},
      layout);
}

}  // namespace vramwise::model
