// What a converter can do in two ways. Latent attention: converters split kv_b into the halves that
// absorption multiplies with; before, it stayed whole, and llama.cpp then caches keys and values of
// every head. Source: ggml-org/llama.cpp pull request 12801.
#pragma once

#include <string_view>

#include "base/result.h"
#include "weights/gguf_model.h"

namespace vramwise::weights {

enum class KvB { split, whole };

struct FileLayout {
  KvB kv_b = KvB::split;
  // The converter kept the multi-token-prediction layers, which most do on request only.
  // Source: ggml-org/llama.cpp convert_hf_to_gguf.py.
  bool keeps_mtp = false;
};

// gguf_tensors() and quantize() of gguf_model.h in the layout named.
Result<GgufModel> gguf_tensors(const model::Model& model, FileLayout layout);
Result<GgufModel> quantize(const model::Model& model, std::string_view file_type,
                           const QuantizeOptions& options, FileLayout layout);

// Does the file keep kv_b in one piece?
bool has_whole_kv_b(const GgufModel& gguf);

}  // namespace vramwise::weights
