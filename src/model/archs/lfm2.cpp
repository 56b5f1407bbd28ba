// LFM2, with experts and with vision: short convolutions in most layers, attention in a few.
// Source: transformers models/lfm2, models/lfm2_moe, models/lfm2_vl.
#include "model/arch_rule.h"
#include "model/builder.h"
#include "model/plain_attention.h"
#include "model/towers/siglip.h"
#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

// The dense width: two thirds of what the config says, rounded up to a multiple.
int64_t dense_width(const Fields& text) {
  int64_t width = text.extent({"block_ff_dim", "intermediate_size"});
  if (!text.flag({"block_auto_adjust_ff_dim"}, true)) return width;
  width = 2 * width / 3;
  width = int64_t(text.real({"block_ffn_dim_multiplier"}, 1, 0, 1e3) * double(width));
  return round_up(width, text.divisor_or({"block_multiple_of"}, 256));
}

std::vector<bool> attention_layers(const Fields& text, int64_t layers) {
  std::vector<bool> attends(size_t(layers), false);
  const std::vector<std::string> types = text.names({"layer_types"}, layers);
  for (size_t i = 0; i < types.size(); ++i) attends[i] = types[i] == "full_attention";
  for (const int64_t i : text.any_integers({"full_attn_idxs"})) {
    if (types.empty() && i < layers) attends[size_t(i)] = true;
  }
  return attends;
}

void add_convolution(Builder& b, int64_t kernel, bool bias) {
  const int64_t h = b.hidden();
  b.linear(Role::recurrent_in, "conv.in_proj", 3 * h, h, bias);
  b.add(Role::recurrent_conv, "conv.conv.weight", {h, 1, kernel});
  if (bias) b.add(Role::recurrent_conv_bias, "conv.conv.bias", {h});
  b.linear(Role::recurrent_out, "conv.out_proj", h, h, bias);
  b.recurrent(ShortConvState{h, kernel});
}

void add_text(Builder& b, bool experts) {
  const Fields& text = b.text();
  const Heads heads = read_heads(text, {.kv_heads = 8});
  const int64_t layers = text.layers();
  const std::vector<bool> attends = attention_layers(text, layers);
  const int64_t kernel = text.divisor_or({"conv_L_cache"}, 3);
  const bool bias = text.flag({"conv_bias"}, false);
  MoeFeedForward moe;
  int64_t dense = layers;
  if (experts) {
    dense = text.number({"num_dense_layers"}, 0, 0, kMaxLayers);
    moe.experts = text.required({"num_experts"}, 1, kMaxExperts);
    moe.active = text.required({"num_experts_per_tok"}, 1, kMaxExperts);
    moe.width = text.extent({"moe_intermediate_size"});
    moe.correction_bias = text.flag({"use_expert_bias"}, true);
    moe.gating = RouterGating::sigmoid;
    moe.normalise_weights = text.flag({"norm_topk_prob"}, true);
  }
  const int64_t width = experts ? text.extent({"intermediate_size"}) : dense_width(text);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("model.layers.", i);
    if (attends[size_t(i)]) {
      AttentionBlock block = plain_attention(heads);
      block.qk_norm = QkNorm::per_head;
      b.attention(block, {.o = "out_proj", .q_norm = "q_layernorm", .k_norm = "k_layernorm"});
    } else {
      add_convolution(b, kernel, bias);
    }
    if (i < dense) {
      b.gated_mlp(width, false, {.scope = "feed_forward.", .gate = "w1", .up = "w3", .down = "w2"});
    } else {
      b.moe(moe, {.router = "feed_forward.gate",
                  .correction = "feed_forward.expert_bias",
                  .experts = "feed_forward.experts.{e}.",
                  .gate = "w1",
                  .up = "w3",
                  .down = "w2"});
    }
    b.pre_norms("operator_norm", "ffn_norm");
  }
  b.end_layers("model.");
  b.embedding();
  b.norm("embedding_norm");
  b.head();
  add_rope_table(text, b.model(), heads.dim);
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const Fields text = top.text();
  const auto vision = top.section({"vision_config"});
  const bool experts = text.text_or({"model_type"}, "lfm2") == "lfm2_moe";
  const bool tied = text.flag({"tie_embedding"}, true);  // its older name
  Builder b(top, text, {.tied = tied, .positions = 128000, .gguf = experts ? "lfm2moe" : "lfm2"});
  add_text(b, experts);
  if (vision) {
    const int64_t h = add_siglip(
        b, *vision, {.scope = "model.vision_tower.vision_model.", .flattened_patches = true});
    const int64_t factor = top.required({"downsample_factor"}, 1, 1024);
    const int64_t merged = h * factor * factor;
    const int64_t width = top.extent({"projector_hidden_size"});
    const bool bias = top.flag({"projector_bias"}, true);
    begin_projector(b, "model.multi_modal_projector.");
    if (top.flag({"projector_use_layernorm"}, true)) {
      b.biased_norm("layer_norm", merged, Role::projector);
    }
    projector_linear(b, "linear_1", width, merged, bias);
    projector_linear(b, "linear_2", b.hidden(), width, bias);
  }
  return b.finish();
}

constexpr std::string_view kTypes[] = {"lfm2", "lfm2_moe", "lfm2_vl"};
constexpr std::string_view kClasses[] = {"Lfm2ForCausalLM", "Lfm2MoeForCausalLM",
                                         "Lfm2VlForConditionalGeneration"};

}  // namespace

const ArchRule& arch_lfm2() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
