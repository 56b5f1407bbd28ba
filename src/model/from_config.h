// From a Hugging Face config.json to a Model.
#pragma once

#include <string_view>

#include "base/result.h"
#include "json/reader.h"
#include "model/model.h"

namespace vramwise::model {

// Picks the family by model_type (or class) and builds the model. `assume_family`, when not empty,
// names a model_type to use instead of an unknown one; the answer carries that as an assumption.
// Errors: unsupported for an unknown family (with the families it resembles and what to pass),
// missing_field / invalid_input / inconsistent / too_large with the place of the fault.
Result<Model> from_config(const json::Reader& config, std::string_view id,
                          std::string_view assume_family = {});

// Every model_type known, sorted.
std::vector<std::string_view> known_model_types();

}  // namespace vramwise::model
