// From the name of a model to its config: a catalog entry, or a variant of one.
//
// Most repositories on the Hugging Face hub are variants: the same shape stored in another format
// (-AWQ, -FP8-dynamic, -GGUF), tuned further (-Instruct), dated (-2507) or copied by another
// publisher. A name that is not listed is stripped of such endings until a listed one remains;
// every step is an assumption of the answer. Sizes are never guessed: a name that leaves something
// else over is not found.
#pragma once

#include <string>
#include <string_view>

#include "base/note.h"
#include "base/result.h"
#include "json/value.h"

namespace vramwise::catalog {

struct ModelRef {
  std::string id;                   // of the catalog entry that the shape is from
  json::Value config;               // as in config.json, without quantization_config
  std::string weights;              // stored format that the name says ("Q4_K_M"); empty: none said
  json::Value quantization_config;  // of the repository, or as its name implies; null: none
  Notes notes;                      // what was assumed on the way
  std::string confidence;           // "real config", "reconstructed" or "from memory"
  std::string source;               // public source of the shape
};

// `ref` is an id or alias ("meta-llama/Llama-3.1-8B", "qwen3-8b"), a variant of one
// ("RedHatAI/Qwen3-8B-FP8-dynamic"), with ":Q4_K_M" behind it for a GGUF file, or an Ollama name
// ("llama3.3:70b-instruct-q3_K_M"). Errors: not_found with the nearest names.
Result<ModelRef> resolve_model(std::string_view ref);

}  // namespace vramwise::catalog
