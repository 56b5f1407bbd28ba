// What Gemma 4's unified models (12B) have instead of towers: one matrix over the pixels of a
// patch, one over a stretch of sound.
#pragma once

#include "model/builder.h"

namespace vramwise::model {

void add_gemma4_unified_vision(Builder& b, const Fields& vision);
void add_gemma4_unified_audio(Builder& b, const Fields& audio);

}  // namespace vramwise::model
