// MiniCPM 1 and 2 (with a variant of experts) and MiniCPM 3 (latent attention).
// Source: openbmb/MiniCPM-2B-sft-bf16 and openbmb/MiniCPM3-4B, modeling_minicpm.py.
#include "model/arch_rule.h"
#include "model/latent_parts.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build_v3(const Fields& fields) {
  Builder b(fields, fields, {.tied = true, .positions = 32768, .gguf = "minicpm3"});
  b.model().embedding_scaled = true;
  const LatentBlock block = read_latent(fields);
  const int64_t width = fields.extent({"intermediate_size"});
  const int64_t layers = fields.layers();
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("model.layers.", i);
    b.latent(block, fields.flag({"attention_bias"}, false));
    b.gated_mlp(width);
    b.pre_norms("input_layernorm", "post_attention_layernorm");
  }
  b.end_layers("model.");
  b.embedding();
  b.norm("norm");
  b.head();
  add_latent_rope(b, block.rope_dim);
  return b.finish();
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  if (fields.text_or({"model_type"}, "") == "minicpm3") return build_v3(fields);
  Builder b(fields, fields, {.tied = true, .positions = 4096, .gguf = "minicpm"});
  b.model().embedding_scaled = true;
  MoeFeedForward moe;
  moe.experts = fields.experts_or({"num_experts"}, 0);
  LlamaLike options;
  if (moe.experts > 0) {
    moe.active = fields.experts_or({"num_experts_per_tok"}, 2);
    moe.width = fields.extent({"intermediate_size"});
    options.feed_forward = [&](int64_t) {
      b.moe(moe, {.gate = "w1", .up = "w3", .down = "w2"});
      return true;
    };
  }
  add_llama_like(b, options);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"minicpm", "minicpm3"};
constexpr std::string_view kClasses[] = {"MiniCPMForCausalLM", "MiniCPM3ForCausalLM"};

}  // namespace

const ArchRule& arch_minicpm() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
