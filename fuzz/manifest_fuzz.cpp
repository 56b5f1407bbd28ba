// An Ollama manifest, and a name.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "formats/ollama/manifest.h"

using namespace vramwise;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto manifest = formats::read_ollama_manifest(text, "manifest")) {
    const std::string blob = manifest->model.blob_name();
    if (blob.size() != 71 || blob.find('/') != std::string::npos) std::abort();
  }
  if (const auto name = formats::parse_ollama_name(text)) {
    const std::string path = name->manifest_path();
    if (path.find("..") != std::string::npos || path[0] == '/') std::abort();
    const auto again = formats::parse_ollama_name(name->to_text());
    if (!again || again->manifest_path() != path) std::abort();
  }
  return 0;
}
