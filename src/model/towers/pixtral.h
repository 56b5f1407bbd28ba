// Pixtral: the vision tower of Mistral 3.x, and its patch merger and projector.
#pragma once

#include "model/builder.h"

namespace vramwise::model {

void add_pixtral(Builder& b, const Fields& top, const Fields& vision);

}  // namespace vramwise::model
