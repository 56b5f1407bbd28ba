// The vision towers of Qwen2-VL, Qwen2.5-VL (and EXAONE 4.5), Qwen3-VL and Qwen3.5, and of the
// Omni models with theirs.
#pragma once

#include <string>

#include "model/builder.h"

namespace vramwise::model {

void add_qwen2_vision(Builder& b, const Fields& vision);
// EXAONE 4.5 has this tower too, with fewer heads for keys and values.
void add_qwen2_5_vision(Builder& b, const Fields& vision, std::string scope = "visual.");
void add_qwen3_vision(Builder& b, const Fields& vision, std::string scope = "model.visual.");

}  // namespace vramwise::model
