// RWKV 7 in GGUF: its own names for nearly everything, and vectors piled up.
#pragma once

#include <vector>

#include "weights/gguf_names.h"

namespace vramwise::weights {

// The pieces of a tensor of an RWKV 7 layer; empty when the common names hold.
std::vector<GgufPiece> rwkv_pieces(const model::Tensor& tensor);

}  // namespace vramwise::weights
