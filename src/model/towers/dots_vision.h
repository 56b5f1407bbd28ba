// The vision tower of dots.ocr.
#pragma once

#include "model/builder.h"

namespace vramwise::model {

void add_dots_vision(Builder& b, const Fields& vision);

}  // namespace vramwise::model
