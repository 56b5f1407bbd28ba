#include "model/llama_like.h"
#include "model/plain_attention.h"

namespace vramwise::model {

Heads add_llama_like(Builder& b, const LlamaLike& options) {
  const Fields& text = b.text();
  const Heads heads = read_heads(text, options.heads);
  const int64_t layers = text.layers();
  b.set_norm(options.norm_kind);
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    b.begin_layer(options.stem + options.layer_list, i);
    AttentionBlock block = plain_attention(heads);
    block.qkv_bias = options.qkv_bias;
    block.output_bias = options.output_bias;
    block.qk_norm = options.qk_norm;
    block.fused_qkv = options.fused;
    if (options.attention) options.attention(i, block);
    b.attention(block, options.attention_names);
    if (!options.feed_forward || !options.feed_forward(i)) {
      const MlpNames& names = options.mlp_names;
      // Read here: a model of experts only need not say it.
      const int64_t width = text.extent({"intermediate_size", "ffn_dim", "n_inner"});
      if (!options.gated) {
        b.plain_mlp(width, std::string(names.scope) + std::string(names.up),
                    std::string(names.scope) + std::string(names.down), options.mlp_bias);
      } else if (options.fused) {
        b.fused_mlp(width, names);
      } else {
        b.gated_mlp(width, options.mlp_bias, names);
      }
    }
    switch (options.norms) {
      case NormPlan::pre: b.pre_norms(options.attention_norm, options.ffn_norm); break;
      case NormPlan::sandwich: b.sandwich_norms(); break;
      case NormPlan::post:
        b.post_norms("post_attention_layernorm", "post_feedforward_layernorm");
        break;
      case NormPlan::parallel: b.parallel_norm(options.attention_norm); break;
    }
  }
  b.end_layers(options.stem);
  b.embedding(options.embedding);
  b.norm(options.final_norm);
  b.head(options.head, options.head_bias);
  if (options.rope_table) {
    add_rope_table(text, b.model(), heads.dim,
                   read_rope_scaling(text, "full_attention", options.rotary_share));
  }
  return heads;
}

int64_t uniform_window(const Builder& b, int64_t class_default) {
  const Fields& text = b.text();
  if (text.says_null("sliding_window")) return 0;
  const int64_t window = text.extent_or({"sliding_window"}, class_default);
  if (!text.flag({"use_sliding_window"}, true)) return 0;
  const int64_t context = text.extent_or({"max_position_embeddings"}, 0);
  return context > 0 && window >= context ? 0 : window;
}

}  // namespace vramwise::model
