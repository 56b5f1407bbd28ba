// The vision tower of DeepSeek V4.1 and its aligner.
#pragma once

#include "model/builder.h"

namespace vramwise::model {

void add_deepseek_vit(Builder& b, const Fields& vision);

}  // namespace vramwise::model
