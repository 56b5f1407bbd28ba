// How latent attention lies in a GGUF. Converters split kv_b into the halves that absorption
// multiplies with; before, it stayed whole, and llama.cpp then caches keys and values of every
// head. Source: ggml-org/llama.cpp pull request 12801.
#pragma once

#include <string_view>

#include "base/result.h"
#include "weights/gguf_model.h"

namespace vramwise::weights {

enum class KvB { split, whole };

// gguf_tensors() and quantize() of gguf_model.h in the layout named.
Result<GgufModel> gguf_tensors(const model::Model& model, KvB kv_b);
Result<GgufModel> quantize(const model::Model& model, std::string_view file_type,
                           const QuantizeOptions& options, KvB kv_b);

// Does the file keep kv_b in one piece?
bool has_whole_kv_b(const GgufModel& gguf);

}  // namespace vramwise::weights
