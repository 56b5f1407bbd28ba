// Ollama's names and manifests: which blob of a model is its GGUF file.
// Source: ollama/ollama docs and types/model/name.go.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vramwise::formats {

// "llama3.1:8b" is registry.ollama.ai/library/llama3.1:8b.
struct OllamaName {
  std::string host = "registry.ollama.ai";
  std::string space = "library";
  std::string model;
  std::string tag = "latest";

  // Below a store's manifests/ folder.
  std::string manifest_path() const;
  std::string to_text() const;
};
// Errors: invalid_input for what could not be a name (its parts become parts of paths and URLs).
Result<OllamaName> parse_ollama_name(std::string_view text);

struct OllamaLayer {
  std::string media_type;
  std::string digest;  // "sha256:" and 64 hexadecimal digits, checked
  int64_t bytes = 0;

  // "sha256-…", the file's name below a store's blobs/ folder.
  std::string blob_name() const;
};

struct OllamaManifest {
  OllamaLayer model;  // the GGUF file
  std::vector<OllamaLayer> projectors;
  std::vector<OllamaLayer> adapters;
  std::string params_digest;  // JSON of the model's own parameters (num_ctx, …); may be empty
  int64_t total_bytes = 0;    // of all layers
};
Result<OllamaManifest> read_ollama_manifest(std::string_view text, std::string_view source);

}  // namespace vramwise::formats
