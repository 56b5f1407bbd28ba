// From a GGUF file's own keys and tensors to a Model: tensors exactly as in the file, structure and
// caches from its hyper-parameters. Works for architectures that are not known as well; what then
// had to be inferred is said in the notes.
#pragma once

#include <string_view>

#include "base/result.h"
#include "formats/gguf/gguf.h"
#include "model/model.h"

namespace vramwise::model {

// Errors: missing_field and inconsistent about the file's keys, with their names; too_large beyond
// what llama.cpp accepts (512 layers, 1,024 experts).
// A file that holds no language model (a projector, an adapter) becomes a Model without layers.
Result<Model> from_gguf(const formats::GgufFile& file, std::string_view id);

}  // namespace vramwise::model
