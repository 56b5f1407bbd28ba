// Pixtral: the vision tower of Mistral 3.x, Pixtral 12B and LightOnOCR, and the patch merger and
// projector of Mistral 3.x.
#pragma once

#include <string>

#include "model/builder.h"

namespace vramwise::model {

// The tower alone; answers its width.
int64_t add_pixtral_tower(Builder& b, const Fields& vision, std::string scope);
// Norm, merger of patches and two matrices behind `scope`.
void add_pixtral_projector(Builder& b, const Fields& top, int64_t hidden, std::string scope);
void add_pixtral(Builder& b, const Fields& top, const Fields& vision);

}  // namespace vramwise::model
