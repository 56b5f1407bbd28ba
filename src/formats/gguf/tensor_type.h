// The element types of ggml: ids as files write them, block sizes, names.
// Source: ggml-org/llama.cpp ggml/include/ggml.h, ggml/src/ggml-common.h,
// gguf-py/gguf/constants.py.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace vramwise::formats {

struct GgufType {
  int32_t id;
  std::string_view name;  // "Q4_K"
  int64_t block_elements;
  int64_t block_bytes;
};

// All of them by id. Ids 4, 5, 31-33 and 36-38 were removed from the format.
std::span<const GgufType> gguf_types();
// nullptr for an id that is unknown or removed.
const GgufType* gguf_type(int64_t id);
bool is_removed_gguf_type(int64_t id);

}  // namespace vramwise::formats
