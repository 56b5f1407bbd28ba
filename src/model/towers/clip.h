// CLIP, the vision tower of LLaVA 1.5 and Phi-3-vision.
#pragma once

#include <string>

#include "model/builder.h"

namespace vramwise::model {

struct ClipShape {
  int64_t hidden = 0, width = 0, layers = 0;
  int64_t patch = 0, side = 0;  // pixels of a patch, patches of a side
};

// Adds the tensors behind the scope that is open.
void add_clip(Builder& b, const ClipShape& shape);
// Opens `scope` and adds the tower that the config describes; answers its width.
int64_t add_clip(Builder& b, const Fields& vision, std::string scope);

}  // namespace vramwise::model
