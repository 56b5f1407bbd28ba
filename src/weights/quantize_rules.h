// The quantiser's decision for every tensor of a GGUF file: which type it gets in a mixture.
// Source: ggml-org/llama.cpp src/llama-quant.cpp (the callers of llama_tensor_get_type).
// Valid for: F16, BF16 and F32 sources.
#pragma once

#include <string_view>

#include "base/result.h"
#include "weights/file_types.h"
#include "weights/gguf_model.h"
#include "weights/mixture.h"

namespace vramwise::weights {

MixtureFacts mixture_facts(const model::Model& model, const GgufModel& gguf);

// Rewrites the types of gguf.tensors. Errors: inconsistent for a row that no type of the mixture
// divides (the quantiser stops there too), invalid_input for an unknown type in the options.
Result<void> apply_mixture(GgufModel& gguf, FileType file_type, const MixtureFacts& facts,
                           const QuantizeOptions& options);

// Kept in the source type whatever the mixture.
bool never_quantised(std::string_view name, const std::array<int64_t, 4>& extent);

}  // namespace vramwise::weights
