// HyperCLOVA X SEED: a Llama with scaled residuals and, in the Think models, norms behind attention
// and MLP as well. Source: transformers models/hyperclovax, vllm model_executor/models/
// hyperclovax.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"
#include "model/plain_attention.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 8192});
  const Heads heads = read_heads(fields);
  const bool bias = fields.flag({"attention_bias"}, false);
  const bool behind = fields.flag({"use_post_norm"}, false);
  for (int64_t i = 0; i < fields.layers() && !b.failed(); ++i) {
    b.begin_layer("model.layers.", i);
    AttentionBlock block = plain_attention(heads);
    block.qkv_bias = block.output_bias = bias;
    b.attention(block);
    b.gated_mlp(fields.extent({"intermediate_size"}), fields.flag({"mlp_bias"}, false));
    if (behind) {
      b.sandwich_norms("input_layernorm", "post_norm1", "post_attention_layernorm", "post_norm2");
    } else {
      b.pre_norms("input_layernorm", "post_attention_layernorm");
    }
  }
  b.end_layers("model.");
  b.embedding();
  b.norm("norm");
  b.head();
  add_rope_table(fields, b.model(), heads.dim);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"hyperclovax"};
constexpr std::string_view kClasses[] = {"HyperCLOVAXForCausalLM"};

}  // namespace

const ArchRule& arch_hyperclovax() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
