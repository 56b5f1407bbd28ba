// Llama 4 Scout and Maverick with their vision tower. Experts are stored fused and as [in, out]:
// [experts, hidden, 2 * width] and [experts, width, hidden].
// Source: transformers models/llama4/modeling_llama4.py.
#include <algorithm>

#include "model/arch_rule.h"
#include "model/llama_like.h"
#include "model/towers/tower.h"

namespace vramwise::model {
namespace {

void add_tower(Builder& b, const Fields& vision) {
  const int64_t h = vision.extent({"hidden_size"});
  const int64_t width = vision.extent({"intermediate_size"});
  const int64_t layers = vision.layers();
  const int64_t patch = vision.small({"patch_size"});
  const int64_t side = vision.small({"image_size"}) / patch;
  const int64_t inner = vision.extent({"projector_input_dim"});
  const double shuffle = vision.real({"pixel_shuffle_ratio"}, 0.5, 0.01, 1);
  begin_tower(b, "vision_model.");
  b.add(Role::tower, "class_embedding", {h});
  b.add(Role::tower, "positional_embedding_vlm", {side * side + 1, h});
  tower_linear(b, "patch_embedding.linear", h, vision.small_or({"num_channels"}, 3) * patch * patch,
               false);
  tower_norm(b, "layernorm_pre", h, true);
  tower_norm(b, "layernorm_post", h, true);
  add_clip_layers(b, {.list = "model.layers.",
                      .layers = layers,
                      .hidden = h,
                      .width = width,
                      .output = "o_proj",
                      .norm1 = "input_layernorm",
                      .norm2 = "post_attention_layernorm"});
  tower_linear(b, "vision_adapter.mlp.fc1", inner, int64_t(double(h) / (shuffle * shuffle)), false);
  tower_linear(b, "vision_adapter.mlp.fc2", vision.extent({"projector_output_dim"}), inner, false);
  begin_projector(b, "multi_modal_projector.");
  projector_linear(b, "linear_1", b.hidden(), vision.extent({"vision_output_dim"}), false);
  describe_tower(b, h, width, layers);
  // Up to 16 tiles and the whole image, each shuffled down: vllm models/mllama4.py.
  const int64_t merged = int64_t(1 / (shuffle * shuffle));
  describe_items(b, 17 * (side * side / std::max<int64_t>(1, merged)), merged);
}

// Layers of experts: listed, or every step-th.
std::vector<bool> expert_layers(const Fields& text, int64_t layers) {
  std::vector<bool> experts(size_t(layers), false);
  if (text.has({"moe_layers"})) {
    for (const int64_t i : text.any_integers({"moe_layers"})) {
      if (i < layers) experts[size_t(i)] = true;
    }
    return experts;
  }
  const int64_t step = text.divisor_or({"interleave_moe_layer_step"}, 1);
  for (int64_t i = step - 1; i < layers; i += step) experts[size_t(i)] = true;
  return experts;
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const Fields text = top.text();
  const auto vision = top.section({"vision_config"});
  Builder b(top, text, {.positions = 131072, .gguf = "llama4"});
  b.model().gguf.rope_freqs = true;
  const int64_t layers = text.layers();
  const std::vector<bool> experts = expert_layers(text, layers);
  const std::vector<int64_t> listed = text.any_integers({"no_rope_layers"}, 1);
  const int64_t chunk = text.extent_or({"attention_chunk_size"}, 8192);
  const bool qk_norm = text.flag({"use_qk_norm"}, true);
  MoeFeedForward moe;
  moe.experts = text.experts_or({"num_local_experts"}, 16);
  moe.active = text.experts_or({"num_experts_per_tok"}, 1);
  moe.width = moe.shared_width = text.extent({"intermediate_size"});
  moe.gating = RouterGating::sigmoid;
  moe.normalise_weights = false;
  moe.weights_before = true;
  LlamaLike options;
  options.heads = {.kv_heads = 8, .head_dim = 128};
  options.qkv_bias = options.output_bias = text.flag({"attention_bias"}, false);
  if (vision) {
    options.stem = "language_model.model.";
    options.head = "language_model.lm_head";
  }
  options.attention = [&](int64_t i, AttentionBlock& block) {
    const bool given = int64_t(listed.size()) == layers;
    block.rope = given ? listed[size_t(i)] != 0 : (i + 1) % 4 != 0;
    if (block.rope && qk_norm) block.qk_norm = QkNorm::weightless;
    if (block.rope && chunk > 0) {
      block.window = chunk;
      block.chunked = true;
    }
  };
  options.feed_forward = [&](int64_t i) {
    if (!experts[size_t(i)]) {
      b.gated_mlp(text.extent_or({"intermediate_size_mlp"}, 16384), false,
                  {.scope = "feed_forward."});
      return true;
    }
    const int64_t e = moe.experts, h = b.hidden();
    b.linear(Role::router, "feed_forward.router", e, h);
    b.add(Role::expert_fused_gate_up, "feed_forward.experts.gate_up_proj", {e, h, 2 * moe.width});
    b.add(Role::expert_down, "feed_forward.experts.down_proj", {e, moe.width, h});
    b.gated_tensors(Role::shared_expert_gate, Role::shared_expert_up, Role::shared_expert_down,
                    "feed_forward.shared_expert.", moe.shared_width, "gate_proj", "up_proj",
                    "down_proj");
    b.layer().feed_forward = moe;
    return true;
  };
  add_llama_like(b, options);
  if (vision) add_tower(b, *vision);
  return b.finish();
}

constexpr std::string_view kTypes[] = {"llama4", "llama4_text"};
constexpr std::string_view kClasses[] = {"Llama4ForConditionalGeneration", "Llama4ForCausalLM"};

}  // namespace

const ArchRule& arch_llama4() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
