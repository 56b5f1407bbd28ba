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

// The row of a table that serves the config's model_type or else its class; the first by default.
const Wrapped& wrapped_row(std::span<const Wrapped> rows, const json::Reader& config);

}  // namespace vramwise::model
