// ERNIE 4.5, dense and with experts (an MTP block of its own shape in the 21B and 300B).
// Source: transformers models/ernie4_5, models/ernie4_5_moe; baidu/ERNIE-4.5-300B-A47B-PT.
#include <algorithm>

#include "model/arch_rule.h"
#include "model/llama_like.h"
#include "model/plain_attention.h"

namespace vramwise::model {
namespace {

void add_mtp(Builder& b, const Heads& heads, bool bias, int64_t width) {
  b.begin_mtp_layer("model.mtp_block.0.");
  AttentionBlock block = plain_attention(heads);
  block.qkv_bias = block.output_bias = bias;
  b.attention(block);
  b.gated_mlp(width, bias);
  b.pre_norms("input_layernorm", "post_attention_layernorm");
  b.set_scope("model.");
  b.norm("mtp_emb_norm.0");
  b.norm("mtp_hidden_norm.0");
  b.linear(Role::mtp_projection, "mtp_linear_proj.0", b.hidden(), 2 * b.hidden(), bias);
}

// One number, or one for text and one for images (ERNIE 4.5 VL): the `which`-th.
int64_t of_pair(const Fields& fields, std::string_view key, size_t which, int64_t fallback) {
  const auto value = fields.reader().find(key);
  if (!value || !value->value().is_array()) return fields.number({key}, fallback, -1, kMaxExtent);
  const std::vector<int64_t> pair = fields.any_integers({key});
  if (which < pair.size()) return pair[which];
  return pair.empty() ? fallback : pair.front();
}

// ERNIE 4.5 VL: a router and experts of their own for tokens of images. The file numbers them on
// behind those of text.
void add_image_experts(Builder& b, int64_t experts, int64_t width) {
  b.add(Role::router, "mlp.gate.weight_1", {experts, b.hidden()});
  b.gated_tensors(Role::expert_gate, Role::expert_up, Role::expert_down, "mlp.experts.image.{e}.",
                  width, "gate_proj", "up_proj", "down_proj", false, experts);
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  const std::string type = fields.text_or({"model_type"}, "");
  const bool sees = type == "ernie4_5_moe_vl_text" || type == "ernie4_5_vl_moe_text";
  const bool experts = type == "ernie4_5_moe" || sees;
  Builder b(fields, fields,
            {.tied = true, .positions = 131072, .gguf = experts ? "ernie4_5-moe" : "ernie4_5"});
  const bool bias = fields.flag({"use_bias"}, false);
  const int64_t layers = fields.layers();
  LlamaLike options;
  if (!experts) options.heads.head_dim = 128;
  options.qkv_bias = options.output_bias = options.mlp_bias = bias;
  MoeFeedForward moe;
  int64_t first = 0, last = 0, every = 1;
  const int64_t image_width =
      std::max<int64_t>(1, of_pair(fields, "moe_intermediate_size", 1, 512));
  if (experts) {
    moe.experts = sees ? std::max<int64_t>(1, of_pair(fields, "moe_num_experts", 0, 64))
                       : fields.required({"moe_num_experts"}, 1, kMaxExperts);
    moe.active = fields.required({"moe_k", "num_experts_per_tok"}, 1, kMaxExperts);
    moe.width = sees ? std::max<int64_t>(1, of_pair(fields, "moe_intermediate_size", 0, 1536))
                     : fields.extent({"moe_intermediate_size"});
    moe.shared_width = moe.width * fields.experts_or({"moe_num_shared_experts"}, 0);
    moe.correction_bias = true;
    first = of_pair(fields, "moe_layer_start_index", 0, 1);
    last = of_pair(fields, "moe_layer_end_index", 0, -1);
    if (last < 0) last = layers - 1;
    every = fields.divisor_or({"moe_layer_interval"}, 1);
    options.feed_forward = [&](int64_t i) {
      if ((i + 1) % every != 0 || i < first || i > last) return false;
      MoeFeedForward plain = moe;
      plain.correction_bias = false;  // stored as [1, experts], under its own name
      b.buffer(Role::router_correction_bias, "mlp.moe_statics.e_score_correction_bias",
               {sees ? 2 : 1, moe.experts}, DType::float32);
      b.moe(plain, {.expert_bias = bias});
      if (sees) add_image_experts(b, moe.experts, image_width);
      b.layer().feed_forward = moe;
      return true;
    };
  }
  const Heads heads = add_llama_like(b, options);
  if (experts && fields.number({"num_nextn_predict_layers"}, 0, 0, 100) > 0) {
    add_mtp(b, heads, bias, fields.extent({"intermediate_size"}));
  }
  return b.finish();
}

constexpr std::string_view kTypes[] = {"ernie4_5", "ernie4_5_moe", "paddleocr_vl_text",
                                       "ernie4_5_moe_vl_text", "ernie4_5_vl_moe_text"};
constexpr std::string_view kClasses[] = {"Ernie4_5ForCausalLM", "Ernie4_5_MoeForCausalLM"};

}  // namespace

const ArchRule& arch_ernie() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
