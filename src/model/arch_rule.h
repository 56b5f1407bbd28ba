// The contract of an architecture family: one file in model/archs/ that defines one rule.
//
// To add a family: model/archs/<name>.cpp defines `const ArchRule& arch_<name>();` and a golden
// case under tests/golden/model/. The build finds the file (registry.gen.cpp); nothing else is
// edited.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "json/reader.h"
#include "model/model.h"

namespace vramwise::model {

struct ArchRule {
  // Hugging Face model_type values served by this rule ("llama", "mistral", …).
  std::span<const std::string_view> model_types;
  // Class names for configs without model_type ("LlamaForCausalLM", …); may be empty.
  std::span<const std::string_view> classes;
  // Fills everything but id from the config. `config` is the whole file; nested text_config is the
  // rule's business (helpers in model/config_fields.h).
  Result<Model> (*build)(const json::Reader& config) = nullptr;
};

using ArchFactory = const ArchRule& (*)();
// All rules, sorted by file name. Defined in registry.gen.cpp by the build.
std::span<const ArchFactory> arch_factories();

}  // namespace vramwise::model
