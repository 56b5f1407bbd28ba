// Several mixtures of one model: what asks for more than one converts it once.
#pragma once

#include <string_view>

#include "base/result.h"
#include "weights/gguf_model.h"

namespace vramwise::weights {

// quantize() of gguf_model.h from tensors that gguf_tensors() made of the same model.
Result<GgufModel> quantize(const model::Model& model, const GgufModel& converted,
                           std::string_view file_type, const QuantizeOptions& options = {});

}  // namespace vramwise::weights
