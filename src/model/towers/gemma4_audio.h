// The audio tower of Gemma 4's E models: a conformer behind two strided convolutions.
#pragma once

#include "model/builder.h"

namespace vramwise::model {

void add_gemma4_audio(Builder& b, const Fields& audio);

}  // namespace vramwise::model
