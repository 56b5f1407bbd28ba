// The audio encoder of Gemma 3n: conformer blocks over a subsampled spectrogram.
#pragma once

#include "model/builder.h"

namespace vramwise::model {

// Adds the tower and returns its width.
int64_t add_gemma3n_audio(Builder& b, const Fields& audio);

}  // namespace vramwise::model
