// Language models that hear: Qwen2-Audio and Voxtral (Whisper's encoder and a projector), and the
// thinkers of Qwen2.5-Omni and Qwen3-Omni, which see as well. Engines serve an Omni model's
// thinker; its talker and vocoder are not loaded. Source: transformers models/qwen2_audio, voxtral,
// qwen2_5_omni, qwen3_omni_moe.
#include "model/arch_rule.h"
#include "model/towers/qwen_vision.h"
#include "model/towers/tower.h"
#include "model/towers/whisper_encoder.h"
#include "model/wrapped.h"

namespace vramwise::model {
namespace {

void add_qwen2_audio(Builder& b, const Fields& top) {
  const Fields audio = section_of(top, "audio_config");
  const int64_t h = add_whisper_encoder(b, audio, {.scope = "audio_tower."});
  begin_projector(b, "multi_modal_projector.");
  projector_linear(b, "linear", b.hidden(), h, true);
}

void add_voxtral(Builder& b, const Fields& top) {
  const Fields audio = section_of(top, "audio_config");
  add_whisper_encoder(b, audio, {.scope = "audio_tower."});
  // Four frames side by side: as many as the encoder's MLP is wide.
  const int64_t frames = audio.extent_or({"intermediate_size", "encoder_ffn_dim"}, 5120);
  begin_projector(b, "multi_modal_projector.");
  projector_linear(b, "linear_1", b.hidden(), frames, false);
  projector_linear(b, "linear_2", b.hidden(), b.hidden(), false);
}

void add_omni2(Builder& b, const Fields& thinker) {
  const Fields audio = section_of(thinker, "audio_config");
  const int64_t h = add_whisper_encoder(
      b, audio,
      {.scope = "thinker.audio_tower.", .stored_positions = false, .last_norm = "ln_post"});
  const int64_t out = audio.extent_or({"output_dim"}, b.hidden());
  b.add(Role::tower, "audio_bos_eos_token.weight", {2, out});
  tower_linear(b, "proj", out, h, true);
  const Fields vision = section_of(thinker, "vision_config")
                            .with_defaults({{"depth", 32},
                                            {"hidden_size", 1280},
                                            {"intermediate_size", 3420},
                                            {"patch_size", 14}});
  add_qwen2_5_vision(b, vision, "thinker.visual.");
}

void add_omni3(Builder& b, const Fields& thinker) {
  const Fields vision = section_of(thinker, "vision_config")
                            .with_defaults({{"depth", 27},
                                            {"hidden_size", 1152},
                                            {"intermediate_size", 4304},
                                            {"patch_size", 16},
                                            {"num_position_embeddings", 2304}});
  add_qwen3_vision(b, vision, "thinker.visual.");
  add_qwen3_omni_audio(b, section_of(thinker, "audio_config"), "thinker.audio_tower.");
}

constexpr std::string_view kThinker = "thinker.model.";
constexpr Wrapped kFamilies[] = {
    {.type = "qwen2_audio", .language = "qwen2", .tied = false, .towers = add_qwen2_audio},
    {.type = "voxtral", .tied = false, .towers = add_voxtral},
    {.type = "qwen2_5_omni",
     .language = "qwen2",
     .stem = kThinker,
     .head = "thinker.",
     .tied = false,
     .towers = add_omni2},
    {.type = "qwen3_omni_moe",
     .language = "qwen3_moe",
     .stem = kThinker,
     .head = "thinker.",
     .tied = false,
     .towers = add_omni3},
};

// An Omni config holds that of its thinker; one that was saved alone is the thinker's.
Result<Model> build(const json::Reader& config) {
  const auto thinker = config.find({"thinker_config"});
  if (!thinker || !thinker->is_object()) {
    return build_wrapped(config, wrapped_row(kFamilies, config));
  }
  json::Value inner = thinker->value();
  for (const std::string_view key :
       {"model_type", "architectures", "torch_dtype", "dtype", "quantization_config"}) {
    const json::Value* outer = config.value().find(key);
    if (outer != nullptr && !outer->is_null()) inner.set(key, *outer);
  }
  TRY_ASSIGN(Model model, build_wrapped(json::Reader(inner, config.where().source),
                                        wrapped_row(kFamilies, config)));
  model.notes.assume("thinker_only",
                     "the thinker alone: engines do not load the talker and the vocoder",
                     "thinker_config");
  return model;
}

constexpr std::string_view kTypes[] = {"qwen2_audio",          "voxtral",
                                       "qwen2_5_omni",         "qwen3_omni_moe",
                                       "qwen2_5_omni_thinker", "qwen3_omni_moe_thinker"};
constexpr std::string_view kClasses[] = {"Qwen2AudioForConditionalGeneration",
                                         "VoxtralForConditionalGeneration",
                                         "Qwen2_5OmniModel",
                                         "Qwen2_5OmniForConditionalGeneration",
                                         "Qwen2_5OmniThinkerForConditionalGeneration",
                                         "Qwen3OmniMoeForConditionalGeneration",
                                         "Qwen3OmniMoeThinkerForConditionalGeneration"};

}  // namespace

const ArchRule& arch_audio_text() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
