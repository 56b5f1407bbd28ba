// The mixers with a constant-size state.
// Source: transformers models/mamba, models/mamba2, models/qwen3_next; modeling_kimi.py.
#include "model/builder.h"

namespace vramwise::model {
namespace {

int64_t times(int64_t a, int64_t b) { return saturating_multiply(a, b); }

std::string joined(std::string_view a, std::string_view b) {
  std::string text(a);
  text += b;
  return text;
}

}  // namespace

void Builder::recurrent(const CacheLayout& state) {
  layer_->mixers.push_back(RecurrentBlock{state});
  layer_->caches.push_back(state);
}

void Builder::mamba1(const Mamba1Spec& s, std::string_view scope) {
  const auto name = [&](std::string_view part) { return joined(scope, part); };
  linear(Role::recurrent_in, name("in_proj"), 2 * s.inner, hidden(), s.bias);
  add(Role::recurrent_conv, name("conv1d.weight"), {s.inner, 1, s.conv_kernel});
  if (s.conv_bias) add(Role::recurrent_conv_bias, name("conv1d.bias"), {s.inner});
  linear(Role::recurrent_projection, name("x_proj"), s.rank + 2 * s.state, s.inner);
  linear(Role::recurrent_projection, name("dt_proj"), s.inner, s.rank, true);
  add(Role::recurrent_parameter, name("A_log"), {s.inner, s.state}, 1, DType::float32);
  add(Role::recurrent_parameter, name("D"), {s.inner}, 1, DType::float32);
  linear(Role::recurrent_out, name("out_proj"), hidden(), s.inner, s.bias);
  if (s.inner_norms) {
    weight_norm(name("dt_layernorm"), s.rank, Role::recurrent_norm);
    weight_norm(name("b_layernorm"), s.state, Role::recurrent_norm);
    weight_norm(name("c_layernorm"), s.state, Role::recurrent_norm);
  }
  recurrent(Mamba1State{s.inner, s.state, s.conv_kernel, std::nullopt});
}

void Builder::mamba2(const Mamba2Spec& s, std::string_view scope) {
  const auto name = [&](std::string_view part) { return joined(scope, part); };
  const int64_t inner = times(s.heads, s.head_dim);
  const int64_t channels = saturating_add(inner, times(2, times(s.groups, s.state)));
  linear(Role::recurrent_in, name("in_proj"),
         saturating_add(saturating_add(inner, channels), s.heads), hidden(), s.bias);
  add(Role::recurrent_conv, name("conv1d.weight"), {channels, 1, s.conv_kernel});
  if (s.conv_bias) add(Role::recurrent_conv_bias, name("conv1d.bias"), {channels});
  for (const std::string_view parameter : {"dt_bias", "A_log", "D"}) {
    add(Role::recurrent_parameter, name(parameter), {s.heads}, 1, DType::float32);
  }
  if (s.gated_norm) weight_norm(name("norm"), inner, Role::recurrent_norm);
  linear(Role::recurrent_out, name("out_proj"), hidden(), inner, s.output_bias);
  recurrent(Mamba2State{s.heads, s.head_dim, s.groups, s.state, s.conv_kernel, s.state_dtype});
}

void Builder::gated_delta(const GatedDeltaSpec& spec, std::string_view scope) {
  const auto name = [&](std::string_view part) { return joined(scope, part); };
  const GatedDeltaState& s = spec.state;
  const int64_t keys = times(s.key_heads, s.key_dim), values = times(s.value_heads, s.value_dim);
  if (spec.fused) {
    linear(Role::recurrent_in, name("in_proj_qkvz"), 2 * keys + 2 * values, hidden());
    linear(Role::recurrent_in_small, name("in_proj_ba"), 2 * s.value_heads, hidden());
  } else {
    linear(Role::recurrent_in, name("in_proj_qkv"), 2 * keys + values, hidden());
    linear(Role::recurrent_in, name("in_proj_z"), values, hidden());
    linear(Role::recurrent_in_small, name("in_proj_b"), s.value_heads, hidden());
    linear(Role::recurrent_in_small, name("in_proj_a"), s.value_heads, hidden());
  }
  add(Role::recurrent_conv, name("conv1d.weight"), {2 * keys + values, 1, s.conv_kernel});
  add(Role::recurrent_parameter, name("dt_bias"), {s.value_heads}, 1, DType::float32);
  add(Role::recurrent_parameter, name("A_log"), {s.value_heads}, 1, DType::float32);
  weight_norm(name("norm"), s.value_dim, Role::recurrent_norm);
  linear(Role::recurrent_out, name("out_proj"), hidden(), values);
  recurrent(s);
}

void Builder::kimi_delta(const KimiDeltaSpec& spec, std::string_view scope) {
  const auto name = [&](std::string_view part) { return joined(scope, part); };
  const KimiDeltaState& s = spec.state;
  const int64_t inner = times(s.heads, s.head_dim);
  for (const std::string_view kind : {"q", "k", "v"}) {
    linear(Role::recurrent_in, name(joined(kind, "_proj")), inner, hidden());
    add(Role::recurrent_conv, name(joined(kind, "_conv1d.weight")), {inner, 1, s.conv_kernel});
  }
  linear(Role::recurrent_in_small, name("f_a_proj"), s.head_dim, hidden());
  linear(Role::recurrent_in_small, name("f_b_proj"), inner, s.head_dim);
  linear(Role::recurrent_in_small, name("b_proj"), s.heads, hidden());
  if (spec.full_rank_gate) {
    linear(Role::recurrent_in, name("g_proj"), inner, hidden());
  } else {
    linear(Role::recurrent_in_small, name("g_a_proj"), s.head_dim, hidden());
    linear(Role::recurrent_in_small, name("g_b_proj"), inner, s.head_dim);
  }
  add(Role::recurrent_parameter, name("A_log"), {1, 1, s.heads, 1}, 1, DType::float32);
  add(Role::recurrent_parameter, name("dt_bias"), {inner}, 1, DType::float32);
  weight_norm(name("o_norm"), s.head_dim, Role::recurrent_norm);
  linear(Role::recurrent_out, name("o_proj"), hidden(), inner);
  recurrent(s);
}

}  // namespace vramwise::model
