// The stored format of a whole model: which matrix has which scheme, and what that weighs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/note.h"
#include "base/result.h"
#include "model/model.h"
#include "weights/gguf_model.h"
#include "weights/scheme.h"
#include "weights/stored_parts.h"

namespace vramwise::weights {

// A safetensors checkpoint: one scheme per tensor of Model::tensors.
struct Recipe {
  std::vector<Scheme> schemes;      // distinct ones; [0] is the unquantised type
  std::vector<uint16_t> of_tensor;  // index into schemes, parallel to Model::tensors
  // The cache type that the checkpoint asks for (modelopt kv_cache_quant_algo), empty: none.
  std::string kv_cache_dtype;
  bool kv_dtype_from_hf_quant_config = false;  // stated in hf_quant_config.json, not config.json

  const Scheme& scheme(size_t tensor) const { return schemes[of_tensor[tensor]]; }
};

struct Weights {
  std::string format;       // canonical id: "bf16", "awq", "fp8", "Q4_K_M" …
  bool from_files = false;  // the repository's own quantization_config said so
  std::optional<Recipe> recipe;
  std::optional<GgufModel> gguf;
  std::optional<Bytes> stored;  // all tensors of a checkpoint, where its files were read
  Notes notes;

  bool is_gguf() const { return gguf.has_value(); }
};

// `format` empty: what the model's own files say (quantization_config, else its dtype).
// Formats: bf16, fp16, fp32, fp8 (block 128 or per the config), fp8-tensor, fp8-channel, fp8-block,
// int8, awq, gptq-int4, gptq-int8, w4a16, w8a16, w8a8, nvfp4, mxfp4, mxfp8, bnb-nf4, bnb-int8, and
// GGUF mixtures. Case is ignored, except that "bf16" is a checkpoint and "BF16" a GGUF file.
// Which modules stay unquantised follows the config's ignore lists, else the format's habit, said
// in `notes`. Errors: not_found for an unknown format (nearest as hints), unsupported, inconsistent
// (a group that does not divide).
Result<Weights> choose_weights(const model::Model& model, std::string_view format);

// The GGUF that llama.cpp would be given for a format: a mixture name, or bf16, fp16, fp32 and
// mxfp4 in the words of choose_weights; empty: the plain conversion. Errors: unsupported for other
// safetensors formats, and those of quantize().
Result<Weights> choose_gguf_weights(const model::Model& model, std::string_view format);

// Bytes of the tensors at rest: a GGUF's tensor data, or a checkpoint's total_size (without the MTP
// layers that it stores when `with_mtp` is false).
Bytes at_rest_bytes(const model::Model& model, const Weights& weights, bool with_mtp = true);
// Of one tensor, all copies, in a scheme of a recipe.
Bytes at_rest_bytes(const model::Model& model, const model::Tensor& tensor, const Scheme& scheme);
// Elements of all tensors of a checkpoint by kind, MTP layers and buffers included, a tied head
// not; all zero for a GGUF.
StoredCounts stored_counts(const model::Model& model, const Weights& weights);
// at_rest_bytes * 8 / stored parameters.
double bits_per_weight(const model::Model& model, const Weights& weights);

// Every format id but the GGUF mixtures (gguf_file_types()), sorted, with a line of description
// (for `catalog weights` and nearest names).
struct FormatInfo {
  std::string_view id;
  std::string_view description;
};
std::vector<FormatInfo> formats();

}  // namespace vramwise::weights
