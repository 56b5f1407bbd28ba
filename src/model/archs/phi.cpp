// Phi-1, 1.5 and 2: attention beside the MLP, biases everywhere; also under the first keys
// (phi-msft). Source: transformers models/phi/modeling_phi.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"
#include "model/plain_attention.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 2048, .gguf = "phi2"});
  const Heads heads = read_heads(fields);
  const int64_t layers = fields.layers();
  const int64_t width = fields.extent_or({"intermediate_size", "n_inner"}, 4 * heads.hidden);
  const bool head_norms = fields.flag({"qk_layernorm"}, false);
  b.set_norm(NormKind::layer_norm_bias);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("model.layers.", i);
    AttentionBlock block = plain_attention(heads);
    block.qkv_bias = block.output_bias = true;
    block.query_scaled = true;
    b.attention(block, {.o = "dense"});
    if (head_norms) {
      b.biased_norm("self_attn.q_layernorm", heads.dim, Role::query_norm);
      b.biased_norm("self_attn.k_layernorm", heads.dim, Role::key_norm);
    }
    b.plain_mlp(width, "mlp.fc1", "mlp.fc2", true);
    b.parallel_norm("input_layernorm");
  }
  b.end_layers("model.");
  b.embedding();
  b.norm("final_layernorm");
  b.head("lm_head", true);
  add_rope_table(fields, b.model(), heads.dim, read_rope_scaling(fields, "full_attention", 0.5));
  return b.finish();
}

constexpr std::string_view kTypes[] = {"phi", "phi-msft"};
constexpr std::string_view kClasses[] = {"PhiForCausalLM"};

}  // namespace

const ArchRule& arch_phi() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
