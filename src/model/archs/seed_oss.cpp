// Seed-OSS: biases on q, k, v and on the output have switches of their own.
// Source: transformers models/seed_oss/modeling_seed_oss.py.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  Builder b(fields, fields, {.positions = 524288, .gguf = "seed_oss"});
  LlamaLike options;
  options.heads.head_dim = 128;
  options.qkv_bias = fields.flag({"attention_bias"}, true);
  options.output_bias = fields.flag({"attention_out_bias"}, false);
  options.mlp_bias = fields.flag({"mlp_bias"}, false);
  add_llama_like(b, options);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"seed_oss"};
constexpr std::string_view kClasses[] = {"SeedOssForCausalLM"};

}  // namespace

const ArchRule& arch_seed_oss() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
