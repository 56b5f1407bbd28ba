#include "formats/gguf/tensor_type.h"

namespace vramwise::formats {

std::span<const GgufType> gguf_types() { return kGgufTypes; }

const GgufType* gguf_type(int64_t id) {
  for (const GgufType& type : kGgufTypes) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

bool is_removed_gguf_type(int64_t id) {
  return id == 4 || id == 5 || (id >= 31 && id <= 33) || (id >= 36 && id <= 38);
}

}  // namespace vramwise::formats
