// What a tensor of a GGUF file is for, by its name.
#pragma once

#include <string_view>

#include "model/tensor.h"

namespace vramwise::model {

struct GgufName {
  int32_t layer = -1;     // the N of "blk.N."
  std::string_view rest;  // behind it; the whole name of a tensor of no layer
};
GgufName split_gguf_name(std::string_view name);

// Role::other for a name that is not known.
Role gguf_role(const GgufName& name);

// Stored, but no parameter of the model: rotary factors, selection biases, side scales.
bool is_gguf_buffer(std::string_view rest);

}  // namespace vramwise::model
