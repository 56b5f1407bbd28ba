// CLIP, the vision tower of LLaVA 1.5.
#pragma once

#include <string>

#include "model/builder.h"

namespace vramwise::model {

// Adds the tower; answers its width.
int64_t add_clip(Builder& b, const Fields& vision, std::string scope);

}  // namespace vramwise::model
