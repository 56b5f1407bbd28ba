// Orion: a Llama with LayerNorm. Source: OrionStarAI/Orion-14B-Base modeling_orion.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 4096, .gguf = "orion"});
  LlamaLike options;
  options.norm_kind = NormKind::layer_norm_bias;
  add_llama_like(b, options);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"orion"};
constexpr std::string_view kClasses[] = {"OrionForCausalLM"};

}  // namespace

const ArchRule& arch_orion() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
