// AIMv2, the vision tower of Ovis 2.
#pragma once

#include <string>

#include "model/builder.h"

namespace vramwise::model {

// Opens `scope` and adds the tower that the config describes; answers its width.
int64_t add_aimv2(Builder& b, const Fields& vision, std::string scope);

}  // namespace vramwise::model
