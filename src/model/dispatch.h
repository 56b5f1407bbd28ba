// Finding the rule of a family. Callers: from_config, and families that wrap a language model of
// any other family.
#pragma once

#include <string_view>

#include "base/result.h"
#include "json/reader.h"
#include "model/arch_rule.h"
#include "model/model.h"

namespace vramwise::model {

// nullptr when no rule serves it.
const ArchRule* rule_for_type(std::string_view model_type);
const ArchRule* rule_for_class(std::string_view class_name);

// The class named first in `architectures`; empty when the config has none.
std::string class_of(const json::Reader& config);

// The member of `rule` that a class name spells ("Glm4MoeForCausalLM": "glm4_moe"); empty if none.
std::string_view type_of_class(const ArchRule& rule, std::string_view class_name);

// The class name without what says its task ("Glm4MoeLiteForCausalLM": "Glm4MoeLite").
std::string_view stem_of_class(std::string_view class_name);
// The model_type of any rule that a class name spells exactly; empty if none does.
std::string_view spelled_type(std::string_view class_name);

// Builds with the rule of the config's own model_type or class. Errors: unsupported.
Result<Model> build_by_type(const json::Reader& config);

}  // namespace vramwise::model
