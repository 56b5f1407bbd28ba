// MiniCPM-V 2.5 to 4.5 and MiniCPM-o: SigLIP, a resampler of learned queries, and a language model
// whose keys stand at the top; which family that is, the version says. MiniCPM-o has Whisper's
// encoder too. Source: openbmb/MiniCPM-V-2_6 and MiniCPM-o-2_6 modeling files; vllm
// model_executor/models/minicpmv.py.
#include "base/text.h"
#include "model/arch_rule.h"
#include "model/towers/resampler.h"
#include "model/towers/siglip.h"
#include "model/towers/tower.h"
#include "model/towers/whisper_encoder.h"
#include "model/wrapped.h"

namespace vramwise::model {
namespace {

void add_vision(Builder& b, const Fields& top) {
  const Fields vision = section_of(top, "vision_config", Absent::empty)
                            .with_defaults({{"hidden_size", 1152},
                                            {"intermediate_size", 4304},
                                            {"num_hidden_layers",
                                             top.flag({"drop_vision_last_layer"}, false) ? 26 : 27},
                                            {"image_size", 980},
                                            {"patch_size", 14}});
  const int64_t h = add_siglip(b, vision, {.scope = "vpm."});
  begin_projector(b, "resampler.");
  add_minicpm_resampler(b, top.extent_or({"query_num"}, 64), h);
}

void add_vision_and_audio(Builder& b, const Fields& top) {
  add_vision(b, top);
  if (!top.flag({"init_audio"}, true)) return;
  // Whisper medium.
  const Fields audio = section_of(top, "audio_config", Absent::empty)
                           .with_defaults({{"d_model", 1024},
                                           {"encoder_ffn_dim", 4096},
                                           {"encoder_layers", 24},
                                           {"num_mel_bins", 80}});
  add_whisper_encoder(b, audio, {.scope = "apm."});
  const int64_t from = audio.extent_or({"encoder_ffn_dim"}, 4096) / 4;
  begin_projector(b, "audio_projection_layer.");
  projector_linear(b, "linear1", b.hidden(), from, true);
  projector_linear(b, "linear2", b.hidden(), b.hidden(), true);
  if (top.flag({"init_tts"}, true)) {
    top.notes().assume("speech_not_counted",
                       "the speech generator (tts) is not counted: engines do not load it",
                       "tts_config");
  }
}

// "2.6" or 2.6; where it is missing, the width tells the first one apart, as in vLLM.
std::string version_of(const Fields& top) {
  const auto given = top.reader().find({"version"});
  if (given && given->value().is_string()) return given->value().as_string();
  if (given && given->value().is_number()) {
    const double number = given->value().as_double();
    return number < 2.25   ? "2.0"
           : number < 2.55 ? "2.5"
           : number < 3    ? "2.6"
           : number < 4.25 ? "4.0"
                           : "4.5";
  }
  return top.extent_or({"hidden_size"}, 0) == 2304 ? "2.0" : "2.5";
}

Result<Model> build(const json::Reader& config) {
  const Fields top(config);
  const std::string version = version_of(top);
  const bool hears = top.text_or({"model_type"}, "minicpmv") == "minicpmo";
  if (top.failed()) return fail(*top.fault());
  if (starts_with(version, "2.0")) {
    return fail(config.error(ErrorCode::unsupported,
                             "MiniCPM-V 2.0 has a tower of another kind; known from 2.5 on"));
  }
  Wrapped family{.type = "minicpmv",
                 .language = "llama",
                 .stem = "llm.model.",
                 .head = "llm.",
                 .tied = false,
                 .towers = hears ? add_vision_and_audio : add_vision};
  if (starts_with(version, "2.6")) family.language = "qwen2";
  if (starts_with(version, "4.5")) family.language = "qwen3";
  return build_wrapped(config, family);
}

constexpr std::string_view kTypes[] = {"minicpmv", "minicpmo"};
constexpr std::string_view kClasses[] = {"MiniCPMV", "MiniCPMO"};

}  // namespace

const ArchRule& arch_minicpmv() {
  static constexpr ArchRule kRule{kTypes, kClasses, build};
  return kRule;
}

}  // namespace vramwise::model
