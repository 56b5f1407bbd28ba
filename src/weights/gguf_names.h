// From a checkpoint's tensors to the tensors of a GGUF conversion: names, extents, pieces.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "weights/gguf_quirks.h"

namespace vramwise::weights {

// One GGUF tensor that a checkpoint tensor becomes, wholly or in part.
struct GgufPiece {
  std::string name;
  std::array<int64_t, 4> extent = {1, 1, 1, 1};  // ggml order
};

// Empty: the converter drops the tensor. Pieces of several tensors may carry one name (a stack that
// the checkpoint stores apart); the caller piles them up along extent[2].
std::vector<GgufPiece> gguf_pieces(const model::Model& model, const model::Tensor& tensor,
                                   const GgufQuirks& quirks);

// Whether an F16 or BF16 conversion keeps the tensor in F32.
// Source: ggml-org/llama.cpp convert_hf_to_gguf.py, ModelBase.prepare_tensors.
bool stays_f32(std::string_view name, const std::array<int64_t, 4>& extent);

// Dimensions without the trailing ones, at least 1.
int dimensions(const std::array<int64_t, 4>& extent);

}  // namespace vramwise::weights
