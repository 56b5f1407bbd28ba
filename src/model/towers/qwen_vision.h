// The vision towers of Qwen2-VL, Qwen2.5-VL, Qwen3-VL and Qwen3.5.
#pragma once

#include <string>

#include "model/builder.h"

namespace vramwise::model {

void add_qwen2_vision(Builder& b, const Fields& vision);
void add_qwen2_5_vision(Builder& b, const Fields& vision);
void add_qwen3_vision(Builder& b, const Fields& vision);

}  // namespace vramwise::model
