// Llama-Nemotron (DeciLM): a Llama whose layers a search has thinned out one by one.
// Source: nvidia/Llama-3_3-Nemotron-Super-49B-v1 modeling_decilm.py.
#include "model/arch_rule.h"
#include "model/builder.h"

namespace vramwise::model {
namespace {

// ffn_mult counts in the way Llama 2 did: two thirds of the multiple, rounded up to 256.
int64_t width_of(const Fields& ffn, int64_t hidden) {
  const int64_t given = ffn.extent_or({"intermediate_size"}, 0);
  if (given > 0) return given;
  const double multiple = ffn.real({"ffn_mult"}, 1, 0, 1e3);
  return round_up(int64_t(2 * multiple * double(hidden) / 3), 256);
}

void add_attention(Builder& b, const Fields& block, int64_t heads, int64_t dim, bool bias) {
  if (block.flag({"no_op"}, false)) {
    b.layer().pre_attention_norm = false;
    return;
  }
  if (block.flag({"replace_with_linear"}, false)) {
    b.linear(Role::attention_output, "self_attn.linear_attn", b.hidden(), b.hidden());
  } else {
    AttentionBlock a;
    a.query_heads = heads;
    const int64_t group = block.small({"n_heads_in_group"});
    a.kv_heads = block.divide(heads, "num_attention_heads", group, "n_heads_in_group");
    a.key_dim = a.value_dim = dim;
    a.qkv_bias = a.output_bias = bias;
    b.attention(a);
  }
  b.norm("input_layernorm");
}

void add_ffn(Builder& b, const Fields& block, bool bias) {
  if (block.flag({"no_op"}, false)) return;
  if (block.flag({"replace_with_linear"}, false)) {
    b.linear(Role::ffn_down, "mlp.linear_mlp", b.hidden(), b.hidden());
  } else {
    b.gated_mlp(width_of(block, b.hidden()), bias);
  }
  b.norm("post_attention_layernorm");
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 131072, .gguf = "deci"});
  const int64_t heads = fields.small({"num_attention_heads"});
  int64_t dim = fields.small_or({"head_dim"}, 0);
  if (dim == 0) dim = fields.divide(b.hidden(), "hidden_size", heads, "num_attention_heads");
  const bool attention_bias = fields.flag({"attention_bias"}, false);
  const bool mlp_bias = fields.flag({"mlp_bias"}, false);
  TRY_ASSIGN(const json::Reader list, config.require({"block_configs"}));
  TRY_ASSIGN(const std::vector<json::Reader> blocks, list.items());
  if (int64_t(blocks.size()) > kMaxLayers) {
    return fail(list.error(ErrorCode::too_large, "'block_configs' has more than 10,000 entries"));
  }
  for (size_t i = 0; i < blocks.size() && !b.failed(); ++i) {
    b.begin_layer("model.layers.", int64_t(i));
    TRY_ASSIGN(const json::Reader attention, blocks[i].require({"attention"}));
    TRY_ASSIGN(const json::Reader ffn, blocks[i].require({"ffn"}));
    const Fields a(attention), f(ffn);
    add_attention(b, a, heads, dim, attention_bias);
    add_ffn(b, f, mlp_bias);
    for (const Fields& part : {a, f}) {
      if (part.failed()) return fail(*part.fault());
    }
  }
  b.end_layers("model.");
  b.embedding();
  b.norm("norm");
  b.head();
  add_rope_table(fields, b.model(), dim);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"nemotron-nas", "deci"};
constexpr std::string_view kClasses[] = {"DeciLMForCausalLM"};

}  // namespace

const ArchRule& arch_nemotron_nas() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
