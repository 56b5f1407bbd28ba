// The Perception Encoder of Step3-VL and Step 3.7, with the two convolutions behind it and the
// projector.
#pragma once

#include "model/builder.h"

namespace vramwise::model {

// `top` says whether the projector has a bias.
void add_perception_encoder(Builder& b, const Fields& top, const Fields& vision);

}  // namespace vramwise::model
