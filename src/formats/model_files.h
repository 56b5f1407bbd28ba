// From the files of a model, wherever they lie, to the "model" member of a request.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/byte_source.h"
#include "json/value.h"

namespace vramwise::formats {

struct ModelFile {
  std::string name;  // within its folder or repository: "model-00001-of-00002.safetensors"
  ByteSource* source = nullptr;
};

// Which of several models is meant.
struct ModelQuery {
  std::string file;     // this one; empty: the engine's habit
  std::string variant;  // the GGUF of this label ("Q4_K_M")
  std::string id;       // how the answer calls the model; empty: the file's name
};

// {"ref":…,"header":…} for GGUF, with "config" and "quantization_config" for a checkpoint, these
// alone where there are no weights. Reads headers only.
// Errors: not_found for a file or variant that is not there and for a folder without a model,
// invalid_input with the list of models where several are there and none was named.
Result<json::Value> read_model_files(std::span<const ModelFile> files, const ModelQuery& query);

}  // namespace vramwise::formats
