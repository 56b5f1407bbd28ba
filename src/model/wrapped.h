// A language model of any family inside a config that adds towers: its keys are in text_config (or
// at the top), its tensors behind a prefix, and its own family's rule builds it.
// Callers: the multimodal rules in model/archs/.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "model/builder.h"

namespace vramwise::model {

struct Wrapped {
  std::string_view type;  // model_type of the whole
  // Family of the language model where its own config does not name one.
  std::string_view language = "llama";
  // What the checkpoint calls the language model's "model." and the place of its head.
  std::string_view stem = "language_model.model.";
  std::string_view head = "language_model.";
  // tie_word_embeddings where neither config says it; empty: as the language model's class.
  std::optional<bool> tied = std::nullopt;
  // What the text class takes for keys that are absent.
  std::span<const Fields::Default> defaults = {};
  // Adds everything beside the language model. `top` is the whole config.
  void (*towers)(Builder& b, const Fields& top) = nullptr;
};

Result<Model> build_wrapped(const json::Reader& config, const Wrapped& family);

// The object under `key` of the whole config. Absent: a fault that names it, or with Absent::empty
// an object without keys, which leaves everything to the class.
enum class Absent { fault, empty };
Fields section_of(const Fields& top, std::string_view key, Absent absent = Absent::fault);

// The row whose type starts the config's model_type, the longest of them ("qwen2_5_omni" serves
// "qwen2_5_omni_thinker"); the first when none does.
const Wrapped& wrapped_row(std::span<const Wrapped> rows, const json::Reader& config);

}  // namespace vramwise::model
