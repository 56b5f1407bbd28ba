// The conformer of Phi-4-multimodal and its two projectors, one for sound alone and one for sound
// beside images.
#pragma once

#include <string>

#include "model/builder.h"

namespace vramwise::model {

void add_phi4_audio(Builder& b, const Fields& audio, const std::string& scope);

}  // namespace vramwise::model
