// A checkpoint of a family that is not known: tensors as in its files, structure and caches
// inferred from the standard keys of its config and the shapes of its projections. All of it is
// marked as inferred.
#pragma once

#include <string_view>

#include "base/result.h"
#include "formats/safetensors/safetensors.h"
#include "json/reader.h"
#include "model/model.h"

namespace vramwise::model {

// Errors: unsupported when there is neither a layer count nor an attention to be found.
Result<Model> from_safetensors(const formats::SafetensorsFile& files, const json::Reader& config,
                               std::string_view id);

}  // namespace vramwise::model
