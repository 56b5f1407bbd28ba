// MoonViT, the vision tower of Kimi-VL and Kimi K2.5, with its projector.
#pragma once

#include "model/builder.h"

namespace vramwise::model {

void add_moonvit(Builder& b, const Fields& vision);

}  // namespace vramwise::model
