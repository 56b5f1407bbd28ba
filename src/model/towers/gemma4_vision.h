// The vision tower of Gemma 4.
#pragma once

#include "model/builder.h"

namespace vramwise::model {

void add_gemma4_vision(Builder& b, const Fields& vision);

}  // namespace vramwise::model
