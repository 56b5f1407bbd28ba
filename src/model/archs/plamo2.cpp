// PLaMo 2: Mamba and attention take turns. Source: pfnet/plamo-2-1b modeling_plamo.py. The tensors
// met no published total.
#include <algorithm>

#include "model/arch_rule.h"
#include "model/builder.h"
#include "model/mamba_parts.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.tied = true, .positions = 10485760, .gguf = "plamo2"});
  const int64_t h = b.hidden(), layers = fields.layers();
  const int64_t step = fields.divisor_or({"mamba_step"}, 2);
  const int64_t dim = fields.divisor_or({"hidden_size_per_head"}, 128);
  const int64_t window = fields.extent_or({"attention_window_size"}, 2048);
  const int64_t width = fields.extent({"intermediate_size"});
  std::vector<bool> everything(size_t(layers), false);
  for (const int64_t i : fields.any_integers({"full_attention_idx"})) {
    if (i < layers) everything[size_t(i)] = true;
  }
  AttentionBlock block;
  block.query_heads = fields.small({"num_attention_heads"});
  block.kv_heads = fields.divisor_or({"num_key_value_heads"}, 4);
  block.key_dim = block.value_dim = dim;
  const Mamba2State state{.heads = fields.divisor_or({"mamba_num_heads"}, 64),
                          .head_dim = dim,
                          .groups = 0,
                          .state = fields.divisor_or({"mamba_d_state"}, 64),
                          .conv_kernel = fields.divisor_or({"mamba_d_conv"}, 4)};
  const int64_t inner = state.heads * state.head_dim;
  const int64_t rank = std::max<int64_t>(64, h / 16);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("model.layers.layers.", i);
    const bool mamba = i % step != step / 2;
    if (mamba) {
      b.linear(Role::recurrent_in, "mixer.in_proj", 2 * inner, h);
      b.add(Role::recurrent_conv, "mixer.conv1d.weight", {inner, 1, state.conv_kernel});
      b.linear(Role::recurrent_projection, "mixer.bcdt_proj", rank + 2 * state.state, inner);
      b.linear(Role::recurrent_projection, "mixer.dt_proj", state.heads, rank);
      for (const std::string_view name : {"dt_bias", "A_log", "D"}) {
        b.add(Role::recurrent_parameter, std::string("mixer.") + std::string(name), {state.heads},
              1, DType::float32);
      }
      b.add(Role::recurrent_norm, "mixer.dt_norm_weight", {rank});
      b.add(Role::recurrent_norm, "mixer.B_norm_weight", {state.state});
      b.add(Role::recurrent_norm, "mixer.C_norm_weight", {state.state});
      b.linear(Role::recurrent_out, "mixer.out_proj", h, inner);
      b.recurrent(state);
    } else {
      block.fused_qkv = true;
      block.window = everything[size_t(i)] ? 0 : window;
      b.attention(block, {.scope = "mixer."});
      b.add(Role::query_norm, "mixer.q_weight", {block.query_heads, dim});
      b.add(Role::key_norm, "mixer.k_weight", {block.kv_heads, dim});
    }
    b.fused_mlp(width);
    b.sandwich_norms("pre_mixer_norm", "post_mixer_norm", "pre_mlp_norm", "post_mlp_norm");
  }
  b.end_layers("model.");
  b.embedding();
  b.norm("norm");
  b.head();
  add_rope_table(fields, b.model(), dim);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"plamo2"};
constexpr std::string_view kClasses[] = {"Plamo2ForCausalLM"};

}  // namespace

const ArchRule& arch_plamo2() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
