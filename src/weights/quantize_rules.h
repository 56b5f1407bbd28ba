// The quantiser's decision for every tensor of a GGUF file: which type it gets in a mixture.
// Source: ggml-org/llama.cpp src/llama-quant.cpp (llama_tensor_get_type and its callers).
// Valid for: F16, BF16 and F32 sources.
#pragma once

#include <string_view>

#include "base/result.h"
#include "weights/file_types.h"
#include "weights/gguf_model.h"

namespace vramwise::weights {

// What the decision depends on beside the tensor itself.
struct MixtureFacts {
  int64_t layers = 0;          // block_count, MTP layers included
  int64_t experts = 0;         // 0 or 1 = dense
  int64_t queries_per_kv = 0;  // of layer 0; 0 when it has no KV heads
  bool is_70b = false;
  bool falcon = false;
};

MixtureFacts mixture_facts(const model::Model& model, const GgufModel& gguf);

// Rewrites the types of gguf.tensors. Errors: inconsistent for a row that no type of the mixture
// divides (the quantiser stops there too), invalid_input for an unknown type in the options.
Result<void> apply_mixture(GgufModel& gguf, FileType file_type, const MixtureFacts& facts,
                           const QuantizeOptions& options);

// Kept in the source type whatever the mixture.
bool never_quantised(std::string_view name, const std::array<int64_t, 4>& extent);

}  // namespace vramwise::weights
