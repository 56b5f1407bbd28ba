// Llama 1 to 3.3 and what shares its module: Yi, SmolLM, TinyLlama, CodeLlama, DeepSeek LLM;
// InternLM (v1), which has its own bias key; SmolLM3, which leaves out rotary on every fourth
// layer; IQuest-Coder and its Loop models, which read all layers more than once.
// Source: transformers models/llama, models/smollm3; internlm/internlm-7b modeling_internlm.py;
// vllm model_executor/models/iquest_loopcoder.py.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build_llama(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 2048, .gguf = "llama"});
  LlamaLike options;
  options.qkv_bias = options.output_bias = fields.flag({"attention_bias", "bias"}, false);
  options.mlp_bias = fields.flag({"mlp_bias"}, false);
  // Layers that slide, where the config lists them (Code World Model).
  std::vector<std::string> types;
  int64_t window = 0;
  if (fields.has({"layer_types"}) && fields.has({"sliding_window"})) {
    types = layer_types(fields, fields.layers(), 0, "sliding_attention", "full_attention");
    window = fields.extent_or({"sliding_window"}, 0);
  }
  options.attention = [&](int64_t i, AttentionBlock& block) {
    if (!types.empty() && types[size_t(i)] == "sliding_attention") block.window = window;
  };
  add_llama_like(b, options);
  return b.finish();
}

Result<Model> build_internlm(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 2048, .gguf = "llama"});
  LlamaLike options;
  options.qkv_bias = options.output_bias = fields.flag({"bias"}, true);
  add_llama_like(b, options);
  return b.finish();
}

Result<Model> build_smollm3(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.tied = true, .positions = 32768, .gguf = "smollm3"});
  const std::vector<int64_t> rotary = fields.integers({"no_rope_layers"}, fields.layers(), 1);
  const int64_t interval = fields.divisor_or({"no_rope_layer_interval"}, 4);
  const int64_t window =
      fields.flag({"use_sliding_window"}, false) ? fields.extent_or({"sliding_window"}, 0) : 0;
  LlamaLike options;
  options.heads.kv_heads = 4;
  options.qkv_bias = options.output_bias = fields.flag({"attention_bias"}, false);
  options.mlp_bias = fields.flag({"mlp_bias"}, false);
  options.attention = [&](int64_t i, AttentionBlock& block) {
    block.rope = rotary.empty() ? (i + 1) % interval != 0 : rotary[size_t(i)] != 0;
    if (!block.rope) block.window = window;
  };
  add_llama_like(b, options);
  return b.finish();
}

// Every pass after the first has a window of its own for keys and values beside the first pass's
// cache, and a gate per head between the two.
Result<Model> build_loops(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 131072});
  const Heads heads = read_heads(fields);
  const int64_t passes = fields.number({"loop_num"}, 2, 1, 64);
  const int64_t window = fields.divisor_or({"loop_window_size"}, 64);
  LlamaLike options;
  options.attention = [&](int64_t i, AttentionBlock&) {
    for (int64_t pass = 1; pass < passes; ++pass) {
      b.cache(SlidingWindow{heads.kv, heads.dim, heads.dim, window});
    }
    const std::string layer = b.scope();
    b.set_scope("model.gate_projections." + format_integer(i) + ".");
    b.add(Role::attention_gate, "weight", {heads.query, heads.dim});
    b.add(Role::attention_gate, "bias", {heads.query});
    b.set_scope(layer);
  };
  add_llama_like(b, options);
  return b.finish();
}

Result<Model> build(const json::Reader& config) {
  const std::string type = Fields(config).text_or({"model_type"}, "llama");
  if (type == "internlm") return build_internlm(config);
  if (type == "smollm3") return build_smollm3(config);
  if (type == "iquestloopcoder") return build_loops(config);
  return build_llama(config);
}

constexpr std::string_view kTypes[] = {
    "llama",           "yi",     "Yi",        "internlm", "smollm3", "iquestcoder",
    "iquestloopcoder", "aquila", "internlm3", "xverse",   "cwm"};
constexpr std::string_view kClasses[] = {"LlamaForCausalLM",
                                         "LLaMAForCausalLM",
                                         "YiForCausalLM",
                                         "IQuestCoderForCausalLM",
                                         "IQuestLoopCoderForCausalLM",
                                         "AquilaForCausalLM",
                                         "AquilaModel",
                                         "XverseForCausalLM",
                                         "CwmForCausalLM",
                                         "InternLM3ForCausalLM",
                                         "LlamaModel",
                                         "LlamaBidirectionalModel"};

}  // namespace

const ArchRule& arch_llama() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
