// Whisper's encoder as the audio tower of a language model: two convolutions over the mel bins, a
// position table, layers whose keys have no bias.
#pragma once

#include <string>

#include "model/builder.h"

namespace vramwise::model {

struct WhisperEncoderSpec {
  std::string scope;
  bool stored_positions = true;  // else computed (Qwen2.5-Omni)
  std::string_view last_norm = "layer_norm";
};
// Adds the tower; answers its width. Absent keys are those of Whisper large v3.
int64_t add_whisper_encoder(Builder& b, const Fields& audio, const WhisperEncoderSpec& spec);

// Qwen3-Omni's: three convolutions over the spectrogram as an image, and two matrices behind.
void add_qwen3_omni_audio(Builder& b, const Fields& audio, std::string scope);

}  // namespace vramwise::model
