// One conversion of a model for all the mixtures that are tried on it.
#pragma once

#include "weights/weights.h"

namespace vramwise::weights {

// choose_weights() where gguf_tensors() of the model is known already: mixtures are made of it.
Result<Weights> choose_weights(const model::Model& model, std::string_view format,
                               const GgufModel& converted);

}  // namespace vramwise::weights
