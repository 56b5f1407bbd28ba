// DeepSeek-VL2 (SigLIP and a projector that merges patches) and DeepSeek-OCR 1 and 2, which share
// its model_type: DeepSeek-V2's language model, with latent attention or without.
// Source: deepseek-ai/DeepSeek-VL2 modeling_deepseek_vl_v2.py, siglip_vit.py; DeepSeek-OCR.
#include "model/arch_rule.h"
#include "model/towers/deep_encoder.h"
#include "model/towers/tower.h"
#include "model/wrapped.h"

namespace vramwise::model {
namespace {

// SigLIP as timm spells it, with its attention pool.
int64_t add_timm_siglip(Builder& b, const Fields& vision) {
  const int64_t h = vision.extent_or({"width"}, 1152);
  const int64_t layers = vision.number({"layers"}, 27, 1, kMaxLayers);
  const int64_t patch = vision.divisor_or({"patch_size"}, 14);
  const int64_t side = vision.divisor_or({"image_size"}, 384) / patch;
  const int64_t width = int64_t(vision.real({"mlp_ratio"}, 3.7362, 0.01, 64) * double(h));
  begin_tower(b, "vision.");
  b.add(Role::tower, "patch_embed.proj.weight", {h, 3, patch, patch});
  b.add(Role::tower, "patch_embed.proj.bias", {h});
  b.add(Role::tower, "pos_embed", {1, side * side, h});
  for (int64_t i = 0; i < layers && !b.failed(); ++i) {
    const std::string p = block_scope("blocks.", i);
    tower_norm(b, p + "norm1", h, true);
    tower_linear(b, p + "attn.qkv", 3 * h, h, true);
    tower_linear(b, p + "attn.proj", h, h, true);
    tower_norm(b, p + "norm2", h, true);
    tower_linear(b, p + "mlp.fc1", width, h, true);
    tower_linear(b, p + "mlp.fc2", h, width, true);
  }
  tower_norm(b, "norm", h, true);
  b.add(Role::tower, "attn_pool.latent", {1, 1, h});
  tower_linear(b, "attn_pool.q", h, h, true);
  tower_linear(b, "attn_pool.kv", 2 * h, h, true);
  tower_linear(b, "attn_pool.proj", h, h, true);
  tower_norm(b, "attn_pool.norm", h, true);
  tower_linear(b, "attn_pool.mlp.fc1", width, h, true);
  tower_linear(b, "attn_pool.mlp.fc2", h, width, true);
  describe_tower(b, h, width, layers);
  return h;
}

void add_vl2(Builder& b, const Fields& top) {
  const int64_t h = add_timm_siglip(b, section_of(top, "vision_config"));
  const Fields projector = top.nested({"projector_config"});
  const int64_t merge = projector.number({"downsample_ratio"}, 2, 1, 64);
  begin_projector(b, "projector.");
  projector_linear(b, "layers.0", b.hidden(), h * merge * merge, true);
  projector_linear(b, "layers.2", b.hidden(), b.hidden(), true);
  begin_projector(b, "");
  b.add(Role::projector, "image_newline", {b.hidden()});
  b.add(Role::projector, "view_seperator", {b.hidden()});  // spelled so in the checkpoint
}

void add_ocr(Builder& b, const Fields& top) {
  add_deep_encoder(b, section_of(top, "vision_config"));
}

Result<Model> build(const json::Reader& config) {
  json::Value whole = config.value();
  json::Value* language = whole.find("language_config");
  const Fields text = Fields(config).text();
  // Without latent attention the module is that of DeepSeek-MoE.
  const bool latent = text.flag({"use_mla"}, true) && text.extent_or({"kv_lora_rank"}, 0) > 0;
  const std::string_view family = latent ? "deepseek_v2" : "deepseek";
  if (language != nullptr && language->is_object()) language->set("model_type", family);
  const auto vision = config.find({"vision_config"});
  const auto width = vision ? vision->find({"width"}) : std::nullopt;
  const bool ocr = width && width->is_object();
  if (text.failed()) return fail(*text.fault());
  const Wrapped row{.type = "deepseek_vl_v2",
                    .language = family,
                    .stem = ocr ? "model." : "language.model.",
                    .head = ocr ? "" : "language.",
                    .tied = false,
                    .towers = ocr ? add_ocr : add_vl2};
  return build_wrapped(json::Reader(whole, config.where().source), row);
}

constexpr std::string_view kTypes[] = {"deepseek_vl_v2"};
constexpr std::string_view kClasses[] = {"DeepseekVLV2ForCausalLM", "DeepseekOCRForCausalLM",
                                         "DeepseekOCR2ForCausalLM"};

}  // namespace

const ArchRule& arch_deepseek_vl() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
