// Bamba: Mamba-2 layers, attention at the layers that attn_layer_indices names, an MLP in each.
// Source: transformers models/bamba/modeling_bamba.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"
#include "model/mamba_parts.h"
#include "model/plain_attention.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 262144});
  const int64_t layers = fields.layers();
  const Heads heads = read_heads(fields, {.kv_heads = 8});
  const Mamba2Spec mamba = read_mamba2_prefixed(fields);
  const int64_t width = fields.extent({"intermediate_size"});
  std::vector<bool> attends(size_t(layers), false);
  for (const int64_t i : fields.any_integers({"attn_layer_indices"})) {
    if (i < layers) attends[size_t(i)] = true;
  }
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("model.layers.", i);
    if (attends[size_t(i)]) {
      AttentionBlock block = plain_attention(heads);
      b.attention(block);
    } else {
      b.mamba2(mamba, "mamba.");
    }
    b.gated_mlp(width, false, {.scope = "feed_forward."});
    b.pre_norms("input_layernorm", "pre_ff_layernorm");
  }
  b.end_layers("model.");
  b.embedding();
  b.norm("final_layernorm");
  b.head();
  add_rope_table(fields, b.model(), heads.dim, read_rope_scaling(fields, "full_attention", 0.5));
  return b.finish();
}

constexpr std::string_view kTypes[] = {"bamba"};
constexpr std::string_view kClasses[] = {"BambaForCausalLM"};

}  // namespace

const ArchRule& arch_bamba() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
