// Zamba2: Mamba-2 in every layer; some layers also go through one of a few shared transformer
// blocks over the hidden state and the embedding side by side, each use with a cache and an adapter
// of its own. Source: transformers models/zamba2/modeling_zamba2.py. The tensors met no published
// total.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/builder.h"

namespace vramwise::model {
namespace {

Mamba2Spec read_mamba(const Fields& fields) {
  Mamba2Spec spec;
  const int64_t inner =
      fields.small_or({"mamba_expand", "expansion_factor"}, 2) * fields.extent({"hidden_size"});
  spec.head_dim = fields.divisor_or({"mamba_headdim"}, 64);
  spec.heads = fields.divide(inner, "mamba_expand * hidden_size", spec.head_dim, "mamba_headdim");
  spec.groups = fields.divisor_or({"mamba_ngroups"}, 1);
  spec.state = fields.divisor_or({"mamba_d_state", "state_size"}, 64);
  spec.conv_kernel = fields.divisor_or({"mamba_d_conv", "conv_dimension"}, 4);
  spec.bias = spec.output_bias = fields.flag({"add_bias_linear"}, false);
  return spec;
}

// The first use of a shared block holds its weights; later uses point there.
void add_shared_block(Builder& b, const AttentionBlock& block, int64_t width, int64_t input) {
  const int64_t q = block.query_heads * block.key_dim, k = block.kv_heads * block.key_dim;
  b.linear(Role::query, "shared_transformer.self_attn.q_proj", q, input);
  b.linear(Role::key, "shared_transformer.self_attn.k_proj", k, input);
  b.linear(Role::value, "shared_transformer.self_attn.v_proj", k, input);
  b.linear(Role::attention_output, "shared_transformer.self_attn.o_proj", b.hidden(), q);
  b.linear(Role::ffn_fused_gate_up, "shared_transformer.feed_forward.gate_up_proj", 2 * width,
           b.hidden());
  b.linear(Role::ffn_down, "shared_transformer.feed_forward.down_proj", b.hidden(), width);
  b.weight_norm("shared_transformer.input_layernorm", input);
  b.weight_norm("shared_transformer.pre_ff_layernorm", b.hidden());
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.tied = true, .positions = 4096});
  const int64_t layers = fields.layers();
  const int64_t h = b.hidden();
  const Mamba2Spec mamba = read_mamba(fields);
  const std::vector<std::string> types = layer_types(fields, layers, 0, "hybrid", "mamba");
  const int64_t blocks = fields.divisor_or({"num_mem_blocks"}, 1);
  const int64_t width = fields.extent_or({"intermediate_size", "ffn_hidden_size"}, 4 * h);
  const int64_t rank = fields.flag({"use_shared_block_lora"}, true)
                           ? fields.small_or({"adapter_rank", "lora_rank"}, 128)
                           : 0;
  AttentionBlock block;
  block.query_heads = fields.small({"num_attention_heads"});
  block.kv_heads = fields.divisor_or({"num_key_value_heads"}, block.query_heads);
  // Attention works on hidden state and embedding together: its heads are twice as wide.
  block.key_dim = block.value_dim =
      fields.divide(2 * h, "2 * hidden_size", block.query_heads, "num_attention_heads");
  int64_t uses = 0;
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("model.layers.", i);
    const bool hybrid = types[size_t(i)] == "hybrid";
    b.norm(hybrid ? "mamba_decoder.input_layernorm" : "input_layernorm");
    b.mamba2(mamba, hybrid ? "mamba_decoder.mamba." : "mamba.");
    if (!hybrid) continue;
    b.linear(Role::other, "linear", h, h);
    if (uses < blocks) add_shared_block(b, block, width, 2 * h);
    if (rank > 0) {
      const std::string adapter =
          "shared_transformer.feed_forward.gate_up_proj_adapter_list." + format_integer(uses);
      b.linear(Role::other, adapter + ".0", rank, h);
      b.linear(Role::other, adapter + ".1", 2 * width, rank);
    }
    b.layer().mixers.push_back(block);
    b.cache(FullAttention{block.kv_heads, block.key_dim, block.value_dim});
    b.layer().feed_forward = DenseFeedForward{.width = width, .fused_gate_up = true};
    ++uses;
  }
  b.end_layers("model.");
  b.embedding();
  b.norm("final_layernorm");
  b.head();
  if (fields.flag({"use_mem_rope"}, false)) add_rope_table(fields, b.model(), block.key_dim);
  fields.notes().warn("tensors_unverified",
                      "the tensors of Zamba2 met no published total: weights may be off slightly");
  return b.finish();
}

constexpr std::string_view kTypes[] = {"zamba2"};
constexpr std::string_view kClasses[] = {"Zamba2ForCausalLM"};

}  // namespace

const ArchRule& arch_zamba2() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
