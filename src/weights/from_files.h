// The weights as they lie in a model's own files.
#pragma once

#include <string_view>

#include "base/result.h"
#include "formats/gguf/gguf.h"
#include "formats/safetensors/safetensors.h"
#include "model/model.h"
#include "weights/weights.h"

namespace vramwise::weights {

// Tensors, types and names of the file; `model` is what from_gguf made of it.
Weights from_gguf_file(const formats::GgufFile& file, const model::Model& model);

// A checkpoint whose family is known: `planned` is what its config says, the files say what is
// stored. Says in the notes where the two differ.
Weights from_safetensors_files(const formats::SafetensorsFile& files, const model::Model& model,
                               Weights planned);

// A checkpoint whose family is not known, for the model that from_safetensors made of the same
// files: each tensor in the type it is stored in.
Weights stored_as_is(const formats::SafetensorsFile& files, const model::Model& model);

}  // namespace vramwise::weights
