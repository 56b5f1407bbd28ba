// Hunyuan dense and with experts (A13B, Large). Large shares keys and values among neighbouring
// layers. Source: transformers models/hunyuan_v1_dense, models/hunyuan_v1_moe;
// tencent/Tencent-Hunyuan-Large modeling_hunyuan.py (cross layer attention).
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

// Several of its keys are one number, or a list with the same number for each layer.
int64_t first_of(const Fields& fields, Keys keys, int64_t fallback, int64_t max) {
  const auto value = fields.reader().find(keys);
  if (!value || !value->value().is_array()) return fields.number(keys, fallback, 0, max);
  const std::vector<int64_t> list = fields.any_integers(keys, max);
  return list.empty() ? fallback : list.front();
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  const std::string type = fields.text_or({"model_type"}, "");
  const bool dense = type == "hunyuan_v1_dense" || type == "hunyuan_vl_text";
  Builder b(fields, fields,
            {.tied = !dense, .positions = 2048, .gguf = dense ? "hunyuan-dense" : "hunyuan-moe"});
  LlamaLike options;
  options.qkv_bias = options.output_bias = fields.flag({"attention_bias"}, false);
  if (fields.flag({"use_qk_norm"}, dense)) options.qk_norm = QkNorm::per_head;
  options.attention_names.q_norm = "query_layernorm";
  options.attention_names.k_norm = "key_layernorm";
  const int64_t share =
      fields.flag({"use_cla"}, false) ? fields.divisor_or({"cla_share_factor"}, 1) : 1;
  options.attention = [share](int64_t i, AttentionBlock& block) {
    if (i % share != 0) block.shared_with = i - i % share;
  };
  MoeFeedForward moe;
  if (!dense) {
    const int64_t width = fields.extent({"intermediate_size"});
    moe.experts = first_of(fields, {"num_experts"}, 1, kMaxExperts);
    moe.active = first_of(fields, {"moe_topk", "num_experts_per_tok"}, 1, kMaxExperts);
    moe.width = first_of(fields, {"moe_intermediate_size"}, width, kMaxExtent);
    if (fields.flag({"use_mixed_mlp_moe"}, true)) {
      moe.shared_width = width * first_of(fields, {"num_shared_expert"}, 1, kMaxExperts);
    }
    options.feed_forward = [&](int64_t) {
      b.moe(moe, {.router = "mlp.gate.wg", .shared = "mlp.shared_mlp."});
      return true;
    };
  }
  add_llama_like(b, options);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"hunyuan_vl_text", "hunyuan_v1_dense", "hunyuan_v1_moe",
                                       "hunyuan"};
constexpr std::string_view kClasses[] = {"HunYuanDenseV1ForCausalLM", "HunYuanMoEV1ForCausalLM",
                                         "HunYuanForCausalLM"};

}  // namespace

const ArchRule& arch_hunyuan() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
