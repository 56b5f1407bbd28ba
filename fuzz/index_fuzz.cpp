// The index of a sharded checkpoint.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "formats/safetensors/safetensors.h"

using namespace vramwise;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  formats::MemorySource source({reinterpret_cast<const char*>(data), size}, "index.json");
  const auto index = formats::read_safetensors_index(source);
  if (!index) return 0;
  for (const std::string& file : index->files) {
    // Names become parts of paths.
    if (file.empty() || file.find('/') != std::string::npos || file[0] == '.') std::abort();
  }
  if (!std::is_sorted(index->weight_map.begin(), index->weight_map.end())) std::abort();
  for (const auto& [tensor, file] : index->weight_map) {
    if (index->file_of(tensor) != file || size_t(file) >= index->files.size()) std::abort();
  }
  (void)formats::choose_checkpoint(index->files);
  return 0;
}
