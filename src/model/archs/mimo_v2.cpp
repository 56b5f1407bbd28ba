// MiMo-V2-Flash and V2.5: keys wider than values, sliding layers with head counts of their own.
// Source: XiaomiMiMo/MiMo-V2-Flash modeling_mimo_v2_flash.py. Its checkpoint holds three MTP layers
// that the config does not mention, and attention sinks on full layers that no module creates.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/llama_like.h"

namespace vramwise::model {
namespace {

AttentionBlock read_block(const Fields& text, bool swa) {
  AttentionBlock block;
  block.query_heads =
      swa ? text.small({"swa_num_attention_heads"}) : text.small({"num_attention_heads"});
  block.kv_heads =
      swa ? text.small({"swa_num_key_value_heads"}) : text.small({"num_key_value_heads"});
  block.key_dim = swa ? text.small({"swa_head_dim"}) : text.small({"head_dim"});
  block.value_dim = swa ? text.small({"swa_v_head_dim"}) : text.small({"v_head_dim"});
  if (swa) block.window = text.extent_or({"sliding_window", "sliding_window_size"}, 128);
  return block;
}

void add_attention(Builder& b, AttentionBlock block, bool sinks) {
  block.sinks = sinks;
  AttentionBlock without = block;
  without.sinks = false;  // named differently here
  b.attention_tensors(without);
  b.layer().mixers.push_back(block);
  b.cache(cache_of(block));
  const Part part = b.part();
  if (!sinks) b.set_part(Part::stored_unused);
  b.add(Role::attention_sinks, "self_attn.attention_sink_bias", {block.query_heads});
  b.set_part(part);
}

Result<Model> build(const json::Reader& config) {
  const Fields fields(config);
  const Fields text = fields.text();
  Builder b(fields, text, {.positions = 262144, .gguf = "mimo2"});
  const AttentionBlock full = read_block(text, false), sliding = read_block(text, true);
  const int64_t layers = text.layers();
  const std::vector<int64_t> pattern = text.per_layer({"hybrid_layer_pattern"}, layers, 0, 1);
  const std::vector<int64_t> experts = text.per_layer({"moe_layer_freq"}, layers, 1, 1);
  const bool full_sinks = text.flag({"add_full_attention_sink_bias"}, false);
  const bool swa_sinks = text.flag({"add_swa_attention_sink_bias"}, true);
  const int64_t width = text.extent({"intermediate_size"});
  MoeFeedForward moe;
  moe.experts = text.required({"n_routed_experts"}, 1, kMaxExperts);
  moe.active = text.required({"num_experts_per_tok"}, 1, kMaxExperts);
  moe.width = text.extent({"moe_intermediate_size"});
  moe.shared_width = moe.width * text.experts_or({"n_shared_experts"}, 0);
  moe.correction_bias = true;
  moe.gating = RouterGating::sigmoid;
  moe.expert_groups = text.small_or({"n_group"}, 0);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer("model.layers.", i);
    const bool slides = pattern[size_t(i)] == 1;
    add_attention(b, slides ? sliding : full, slides ? swa_sinks : full_sinks);
    if (experts[size_t(i)] != 0) {
      b.moe(moe);
    } else {
      b.gated_mlp(width);
    }
    b.pre_norms("input_layernorm", "post_attention_layernorm");
  }
  const int64_t mtp = text.number({"num_nextn_predict_layers"}, 3, 0, 100);
  for (int64_t i = 0; i < mtp && !b.failed(); ++i) {
    b.begin_mtp_layer("model.mtp.layers." + format_integer(i) + ".");
    add_attention(b, sliding, true);
    b.gated_mlp(width);
    b.linear(Role::mtp_projection, "eh_proj", b.hidden(), 2 * b.hidden());
    b.pre_norms("input_layernorm", "pre_mlp_layernorm");
    for (const std::string_view name : {"enorm", "hnorm", "final_layernorm"}) b.norm(name);
  }
  b.end_layers("model.");
  b.embedding();
  b.norm("norm");
  b.head();
  add_rope_table(text, b.model(), full.key_dim);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"mimo_v2", "mimo_v2_flash"};
constexpr std::string_view kClasses[] = {"MiMoV2FlashForCausalLM", "MiMoV2ForCausalLM"};

}  // namespace

const ArchRule& arch_mimo_v2() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
