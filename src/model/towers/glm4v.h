// The vision tower of GLM-4.1V and GLM-4.5V.
#pragma once

#include "model/builder.h"

namespace vramwise::model {

// What follows the tower in every GLM with images: `out` wide, with a gated part of `width`.
void add_glm_merger(Builder& b, int64_t out, int64_t width);
void add_glm4v(Builder& b, const Fields& vision);

}  // namespace vramwise::model
