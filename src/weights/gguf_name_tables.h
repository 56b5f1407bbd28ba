// What GGUF files call the tensors of checkpoints: by role where that settles the name, else by the
// end of the checkpoint's name.
// Source: ggml-org/llama.cpp gguf-py/gguf/tensor_mapping.py.
#pragma once

#include <span>
#include <string_view>

#include "model/tensor.h"

namespace vramwise::weights {

struct NamePair {
  std::string_view from, to;
};

std::span<const NamePair> layer_names();       // ends of names inside of a layer
std::span<const NamePair> layer_norm_names();  // ends of a norm's module
std::span<const NamePair> model_names();       // ends of names outside of layers

// The first pair whose `from` ends the name; nullptr when none does.
const NamePair* by_end(std::span<const NamePair> pairs, std::string_view name);

// The GGUF name that a role alone settles, without "blk.N."; empty otherwise.
std::string_view gguf_name_of(model::Role role);

}  // namespace vramwise::weights
