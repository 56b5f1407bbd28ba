// MobileNet V5, the image encoder of Gemma 3n: convolutions and attention over a feature map, the
// same in every published size. Its config names it and says nothing of its shape.
#pragma once

#include <string>

#include "model/builder.h"

namespace vramwise::model {

// Channels of the features it hands over, one vector for each of 256 image tokens.
inline constexpr int64_t kMobileNetV5Channels = 2048;

void add_mobilenet_v5(Builder& b, std::string scope);

}  // namespace vramwise::model
