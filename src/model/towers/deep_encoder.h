// DeepSeek-OCR's image encoder: SAM ViT-B with windows, two convolutions that shrink its map, CLIP
// ViT-L over the result (DeepSeek-OCR 2: Qwen2 0.5B), and one matrix into the language model.
#pragma once

#include "model/builder.h"

namespace vramwise::model {

// `vision` is vision_config; its `width` object holds the two encoders by name.
void add_deep_encoder(Builder& b, const Fields& vision);

}  // namespace vramwise::model
