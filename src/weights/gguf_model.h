// A model as llama.cpp would load it: the GGUF tensors with their types, predicted from a Model and
// a mixture name ("Q4_K_M"), or (later) read from a file.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/note.h"
#include "base/result.h"
#include "model/model.h"
#include "weights/ggml_type.h"

namespace vramwise::weights {

struct GgufTensor {
  std::string name;                              // "blk.3.attn_q.weight"
  std::array<int64_t, 4> extent = {1, 1, 1, 1};  // ggml order: extent[0] is the contiguous row
  GgmlType type = GgmlType::F16;
  int32_t layer = -1;  // -1: not of a layer
  bool mtp = false;    // belongs to a NextN layer

  int64_t elements() const;
  Bytes bytes() const;
};

struct GgufModel {
  std::string architecture;  // general.architecture
  std::string file_type;     // "Q4_K_M"
  int64_t block_count = 0;   // layers, with the MTP layers that the file keeps
  std::vector<GgufTensor> tensors;
  Notes notes;

  Bytes tensor_bytes() const;  // sum over tensors, without padding
  double bits_per_weight() const;
  const GgufTensor* find(std::string_view name) const;
};

struct QuantizeOptions {
  bool imatrix = false;
  std::string output_tensor_type;                                 // --output-tensor-type
  std::string token_embedding_type;                               // --token-embedding-type
  std::vector<std::pair<std::string, std::string>> tensor_types;  // --tensor-type pattern=type
  bool pure = false;                                              // --pure
};

// The tensors of an F16 (or BF16) conversion: GGUF names, extents and unquantised types.
// Errors: unsupported for architectures without a GGUF mapping.
Result<GgufModel> gguf_tensors(const model::Model& model);

// What llama-quantize makes of it. `file_type` ignores case and may have options of llama-quantize
// behind it ("Q4_K_M --output-tensor-type q8_0", quantize_line.h). Errors: not_found for an unknown
// mixture (dynamic "UD" names included) with the nearest standard one.
Result<GgufModel> quantize(const model::Model& model, std::string_view file_type,
                           const QuantizeOptions& options = {});

// Standard mixture names, "Q4_K_M" …
std::span<const std::string_view> gguf_file_types();
bool is_gguf_file_type(std::string_view name);

}  // namespace vramwise::weights
