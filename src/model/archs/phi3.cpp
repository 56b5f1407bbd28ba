// Phi-3, 3.5, 4 and Phi-4-mini, and the text part of Phi-3-vision: q, k, v in one matrix, gate and
// up in another. Source: transformers models/phi3/modeling_phi3.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 4096, .gguf = "phi3"});
  const int64_t window = uniform_window(b, 0);
  LlamaLike options;
  options.fused = true;
  options.attention = [window](int64_t, AttentionBlock& block) {
    block.window = window;
    block.query_scaled = true;
  };
  add_llama_like(b, options);
  b.model().gguf.ignores_window = true;
  if (fields.text_or({"model_type"}, "") == "phi3_v") {
    fields.notes().warn("tower_not_modelled",
                        "the image encoder of Phi-3-vision is not counted: about 0.3 billion "
                        "parameters more");
  }
  return b.finish();
}

constexpr std::string_view kTypes[] = {"phi3", "phi3_v"};
constexpr std::string_view kClasses[] = {"Phi3ForCausalLM"};

}  // namespace

const ArchRule& arch_phi3() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
