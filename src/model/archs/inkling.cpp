// Inkling: five sliding layers, then one that reads all; short convolutions on keys, values and on
// the outputs of attention and MLP. Source: thinkingmachines/Inkling config.json. Its tensors met
// no published total.
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const Fields text = top.text();
  Builder b(top, text, {.positions = 131072});
  const int64_t layers = text.layers();
  const int64_t window = text.extent_or({"sliding_window"}, 512);
  const int64_t kernel = text.divisor_or({"short_conv_kernel_size", "conv_kernel_size"}, 4);
  const std::vector<std::string> types = layer_types(text, layers, 6);
  const int64_t heads = text.small({"num_attention_heads"});
  const int64_t swa_kv =
      text.divisor_or({"swa_num_key_value_heads"}, text.divisor_or({"num_key_value_heads"}, heads));
  MoeFeedForward moe;
  moe.experts = text.experts_or({"num_experts", "n_routed_experts", "num_local_experts"}, 0);
  if (moe.experts > 0) {
    moe.active = text.required({"num_experts_per_tok"}, 1, kMaxExperts);
    moe.width = text.extent({"moe_intermediate_size"});
    moe.correction_bias = true;
    moe.gating = RouterGating::sigmoid;
  }
  LlamaLike options;
  options.heads.head_dim = 128;
  options.attention = [&](int64_t i, AttentionBlock& block) {
    if (types[size_t(i)] != "sliding_attention") return;
    block.window = window;
    block.kv_heads = swa_kv;
  };
  options.feed_forward = [&](int64_t) {
    const auto& block = std::get<AttentionBlock>(b.layer().mixers.front());
    const int64_t channels = 2 * block.kv_heads * block.key_dim + 2 * b.hidden();
    b.add(Role::recurrent_conv, "short_conv.weight", {channels, 1, kernel});
    b.cache(ShortConvState{channels, kernel});
    if (moe.experts == 0) return false;
    b.moe(moe);
    return true;
  };
  add_llama_like(b, options);
  text.notes().warn(
      "tensors_unverified",
      "the tensors of Inkling are not published in the form read here: weights may be "
      "off");
  return b.finish();
}

constexpr std::string_view kTypes[] = {"inkling", "inkling_text"};
constexpr std::string_view kClasses[] = {"InklingForCausalLM", "InklingForConditionalGeneration"};

}  // namespace

const ArchRule& arch_inkling() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
