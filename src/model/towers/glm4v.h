// The vision tower of GLM-4.1V and GLM-4.5V.
#pragma once

#include "model/builder.h"

namespace vramwise::model {

void add_glm4v(Builder& b, const Fields& vision);

}  // namespace vramwise::model
